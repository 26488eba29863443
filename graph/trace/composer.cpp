#include "graph/trace/composer.h"

#include <memory>

#include "graph/host_function.h"

namespace cleave {
namespace {

std::vector<Operand> operands(std::span<const Part> parts) {
  std::vector<Operand> result;
  result.reserve(parts.size());
  for (const Part& part : parts) result.push_back(part.operand());
  return result;
}

}  // namespace

TensorType Part::type() const {
  if (operand_.literal) return {default_dtype(*operand_.literal), {}};
  const TensorType* type = tracer_ ? tracer_->type(operand_) : nullptr;
  return type ? *type : TensorType{DType::f32, {}};
}

Parts Composer::all(const OpDef& function, std::span<const Part> inputs, Attributes attributes) {
  Parts results;
  for (Operand& result : tracer_->apply(function, operands(inputs), std::move(attributes), location_))
    results.emplace_back(*tracer_, std::move(result));
  return results;
}

Part Composer::operator()(const OpDef& function, std::span<const Part> inputs, Attributes attributes) {
  Parts results = all(function, inputs, std::move(attributes));
  return results.empty() ? Part() : std::move(results.front());
}

Part Composer::operator()(const OpDef& function, std::initializer_list<Part> inputs, Attributes attributes) {
  return (*this)(function, std::span<const Part>(inputs.begin(), inputs.size()), std::move(attributes));
}

Part Composer::constant(Array value) {
  return {*tracer_, tracer_->constant(std::move(value), location_)};
}

Parts Composer::for_loop(const Part& count, const Parts& initial,
                         const std::function<Parts(const Part& counter, const Parts& carried)>& body) {
  const auto states = [&](const Parts& parts) {
    std::vector<Tracer::State> result;
    result.reserve(parts.size());
    for (const Part& part : parts) result.push_back({"", part.operand(), location_});
    return result;
  };
  const auto as_parts = [&](std::vector<Operand> given) {
    Parts result;
    result.reserve(given.size());
    for (Operand& operand : given) result.emplace_back(*tracer_, std::move(operand));
    return result;
  };
  Tracer::Loop loop = tracer_->begin_for(count.operand(), states(initial), location_);
  const Parts yielded = body({*tracer_, std::move(loop.counter)}, as_parts(std::move(loop.inside)));
  return as_parts(tracer_->end_for(states(yielded)));
}

Part Composer::with_length(Part x, int axis, const Part& count) {
  if (!x.operand().poisoned() && !count.operand().poisoned()) tracer_->set_length(x.operand(), axis, count.operand());
  return x;
}

Part Composer::at_most(std::string_view function, const Part& count, std::int64_t most, std::string advice) {
  if (count.operand().poisoned()) return count;
  HostFunction check;
  check.name = function;
  check.takes = check.returns = {count.type()};
  check.pure = true;
  check.seconds = 0;
  SourceLocation where = location_;
  if (tracer_->chained(SourceLocation()).via) where.via = nullptr;  // the recorded node has the chain of scopes already
  check.call = [where, most, advice = std::move(advice)](std::span<const Array> inputs, std::span<Array> results,
                                                         const CallLimits&) -> Status {
    const std::int64_t found = *inputs[0].data<std::int64_t>();
    if (found > most) return Error{"there are " + std::to_string(found) + " elements" + advice, where, ErrorKind::user};
    *results[0].mutable_data<std::int64_t>() = found;
    return {};
  };
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(check)));
  return (*this)(op::host_call, {count}, std::move(attributes));
}

Part Composer::error(DiagnosticKind kind, std::string message) {
  tracer_->error(kind, location_, std::move(message));
  return {};
}

}  // namespace cleave
