#include "graph/trace/trace_context.h"

#include <cstdio>

#include "graph/base/diagnostic_text.h"

namespace cleave {
namespace {

thread_local TraceContext* trace_in_progress = nullptr;

}  // namespace

TraceContext* TraceContext::current() {
  return trace_in_progress;
}

TraceContext* TraceContext::enter(TraceContext* context) {
  return std::exchange(trace_in_progress, context);
}

Graph TraceContext::finish() {
  Graph graph = tracer_->finish_written();
  close();
  return graph;
}

Operand TraceContext::operand(const Tensor& tensor, const Here& here) {
  if (tensor.operand_.literal) return tensor.operand_;
  if (tensor.trace_.get() == this) return tensor.operand_;
  if (!tensor.trace_) {
    report(DiagnosticKind::value, here, "a tensor is used that was never given a value in a trace");
  } else {
    report(DiagnosticKind::value, here,
           "a tensor is used outside of the trace that made it; pass it in as an input, or return it and run that graph");
  }
  return {};
}

std::optional<TensorType> TraceContext::type(const Tensor& tensor) {
  if (tensor.operand_.literal) {
    switch (tensor.operand_.literal->type) {
      case Literal::Type::boolean: return TensorType{DType::boolean, {}};
      case Literal::Type::integer: return TensorType{DType::i32, {}};
      case Literal::Type::floating: return TensorType{DType::f32, {}};
    }
  }
  if (!tensor.trace_ || !tensor.trace_->open()) return std::nullopt;
  const TensorType* type = tensor.trace_->tracer().type(tensor.operand_);
  tensor.trace_->tracer().note_type_asked(tensor.operand_);
  return type ? std::optional(*type) : std::nullopt;
}

void TraceContext::report(DiagnosticKind kind, const Here& here, std::string message) {
  if (TraceContext* context = current()) return context->tracer().error(kind, SourceLocation::from(here), std::move(message));
  const Diagnostic diagnostic{kind, Severity::error, std::move(message), SourceLocation::from(here), 0, {}};
  std::fputs(to_text(diagnostic).c_str(), stderr);
}

namespace detail {
namespace {

TraceContext* context_for(const OpDef& op, const Here& here) {
  TraceContext* context = TraceContext::current();
  if (!context)
    TraceContext::report(DiagnosticKind::value, here,
                         "`" + std::string(op.name) + "` outside of a trace; operations are recorded inside `trace(...)`");
  return context;
}

std::vector<Operand> operands(TraceContext& context, std::span<const Tensor> inputs, const Here& here) {
  std::vector<Operand> result;
  result.reserve(inputs.size());
  for (const Tensor& input : inputs) result.push_back(context.operand(input, here));
  return result;
}

}  // namespace

std::vector<Tensor> apply(const OpDef& op, std::span<const Tensor> inputs, Attributes attributes, const Here& here) {
  TraceContext* context = context_for(op, here);
  if (!context) return {};
  std::vector<Tensor> results;
  const std::vector<Operand> given = operands(*context, inputs, here);
  for (Operand& result : context->tracer().apply(op, given, std::move(attributes), SourceLocation::from(here)))
    results.push_back(context->tensor(std::move(result)));
  return results;
}

Tensor call(const OpDef& op, std::span<const Tensor> inputs, Attributes attributes, const Here& here) {
  TraceContext* context = context_for(op, here);
  if (!context) return {};
  const std::vector<Operand> given = operands(*context, inputs, here);
  return context->tensor(context->tracer().call(op, given, std::move(attributes), SourceLocation::from(here)));
}

Tensor operate(std::string_view symbol, const OpDef& op, std::initializer_list<Tensor> inputs, const Here& here) {
  TraceContext* context = context_for(op, here);
  if (!context) return {};
  const std::vector<Operand> given = operands(*context, std::span<const Tensor>(inputs.begin(), inputs.size()), here);
  return context->tensor(context->tracer().operate(symbol, op, given, SourceLocation::from(here)));
}

Tensor call(const OpDef& op, std::initializer_list<Tensor> inputs, Attributes attributes, const Here& here) {
  return call(op, std::span<const Tensor>(inputs.begin(), inputs.size()), std::move(attributes), here);
}

}  // namespace detail
}  // namespace cleave
