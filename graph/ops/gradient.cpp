// gradient and stop_gradient: transforms, which graph/gradient replaces before anything else sees the graph.
#include "graph/ops/gradient.h"

#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"
#include "graph/trace/trace_context.h"

namespace cleave::ops {
namespace {

TypeResult gradient_type(Types inputs, const Attributes&) {
  const TensorType& loss = inputs[0];
  if (!is_floating(loss.dtype) || !loss.scalar()) {
    return TypeError{loss.scalar() ? DiagnosticKind::type : DiagnosticKind::shape,
                     "the loss of `gradient` must be a floating-point scalar, not " + to_string(loss) +
                         (is_floating(loss.dtype) ? "; `sum` or `mean` makes one of it" : "")};
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (is_floating(inputs[i].dtype)) continue;
    return TypeError{DiagnosticKind::type,
                     "`gradient` by a value of type " + to_string(inputs[i]) + ": only floating-point values have a gradient"};
  }
  return std::vector<TensorType>(inputs.begin() + 1, inputs.end());
}

/// The operands, then the results of the piece: the results again, and their cotangents.
TypeResult custom_gradient_type(Types inputs, const Attributes& attributes) {
  const auto operands = attributes.get<std::int64_t>("operands");
  if (operands < 0 || operands >= static_cast<std::int64_t>(inputs.size()))
    return refuse(DiagnosticKind::value, "custom_gradient", inputs, "`operands` must be a number of operands in front of the results");
  const std::vector<TensorType> results(inputs.begin() + operands, inputs.end());
  std::vector<TensorType> both = results;
  both.insert(both.end(), results.begin(), results.end());
  return both;
}

TypeResult gradient_rule_type(Types, const Attributes&) {
  return std::vector<TensorType>();
}

/// Graph/gradient copies what is recorded in front of `gradient_rule`.
void recorded_rule(Composer&, GradientCall&) {}

TypeResult stop_gradient_type(Types inputs, const Attributes&) {
  return give("stop_gradient", inputs, inputs[0]);
}

}  // namespace

constexpr OpDef op::gradient{.name = "gradient",
                             .min_inputs = 2,
                             .max_inputs = -1,
                             .purity = Purity::undetermined,
                             .signature = "gradient(loss, [values])",
                             .summary = "the gradient of the scalar `loss` by each of the values: as many results, of their types",
                             .also_called = "grad, backward",
                             .type_rule = gradient_type};

constexpr OpDef op::stop_gradient{.name = "stop_gradient",
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .purity = Purity::undetermined,
                                  .signature = "stop_gradient(x)",
                                  .summary = "x, which gradients take for a constant",
                                  .also_called = "detach",
                                  .type_rule = stop_gradient_type,
                                  .gradient = GradientRule::zero()};

constexpr OpDef op::custom_gradient{.name = "custom_gradient",
                                    .min_inputs = 1,
                                    .max_inputs = -1,
                                    .attributes = {required("operands", AttributeDef::Type::integer)},
                                    .purity = Purity::undetermined,
                                    .signature = "custom_gradient([arrays], operands)",
                                    .summary =
                                        "results of operands, whose gradient the operations up to `gradient_rule` state, and the "
                                        "cotangents that they are given; recorded for a function with a gradient of its own",
                                    .type_rule = custom_gradient_type,
                                    .gradient = GradientRule(recorded_rule)};

constexpr OpDef op::gradient_rule{.name = "gradient_rule",
                                  .min_inputs = 1,
                                  .max_inputs = -1,
                                  .purity = Purity::effect,
                                  .signature = "gradient_rule([arrays])",
                                  .summary = "the cotangents of floating operands, behind the first result of their `custom_gradient`",
                                  .type_rule = gradient_rule_type,
                                  .gradient = GradientRule::zero()};

}  // namespace cleave::ops

namespace cleave {

namespace detail {
namespace {

std::vector<Operand> operands_of(const std::vector<Leaf>& leaves, const Here& here) {
  std::vector<Operand> operands;
  TraceContext* context = TraceContext::current();
  for (const Leaf& leaf : leaves) operands.push_back(context ? context->operand(*leaf.tensor, here) : Operand());
  return operands;
}

}  // namespace

TracedRule::TracedRule(const std::vector<Leaf>& operands, const std::vector<Leaf>& results, const std::vector<Leaf>& cotangents,
                       const Here& here)
    : here_(here.of("custom_gradient")) {
  TraceContext* context = TraceContext::current();
  if (!context) {
    TraceContext::report(DiagnosticKind::value, here_, "a function with a gradient is called outside of a trace");
    return;
  }
  rule_ = std::make_shared<CustomGradient>(context->tracer(), "custom_gradient", operands_of(operands, here_), operands_of(results, here_),
                                           SourceLocation::from(here_));
  const std::vector<Operand> given = rule_->given({.inputs = false});
  for (std::size_t i = 0; i < results.size(); ++i) {
    *results[i].tensor = context->tensor(given[i]);
    *cotangents[i].tensor = context->tensor(given[results.size() + i]);
  }
}

void TracedRule::end(const std::vector<Leaf>& gradients) {
  if (rule_) rule_->end(operands_of(gradients, here_));
}

}  // namespace detail

void detail::record_gradient(const Tensor& loss, const std::vector<Leaf>& values, const Here& here) {
  std::vector<Tensor> inputs{loss};
  for (const Leaf& leaf : values) inputs.push_back(*leaf.tensor);
  const std::vector<Tensor> gradients = detail::apply(op::gradient, inputs, {}, here.of(op::gradient.name));
  // After a mistake there may be fewer results.
  for (std::size_t i = 0; i < values.size(); ++i) *values[i].tensor = i < gradients.size() ? gradients[i] : Tensor();
}

Tensor stop_gradient(const Tensor& x, Here here) {
  return ops::call(op::stop_gradient, {x}, {}, here);
}

}  // namespace cleave
