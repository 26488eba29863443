#include "graph/trace/composer.h"

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

Part Composer::error(DiagnosticKind kind, std::string message) {
  tracer_->error(kind, location_, std::move(message));
  return {};
}

}  // namespace cleave
