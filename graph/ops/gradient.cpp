// gradient and stop_gradient: transforms, which graph/gradient replaces before anything else sees the graph.
#include "graph/ops/gradient.h"

#include "graph/ops/calls.h"
#include "graph/ops/op_table.h"
#include "graph/ops/rules.h"

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

}  // namespace cleave::ops

namespace cleave {

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
