// Lowerings of optimizer steps (Adagrad, Adam, Momentum): new parameters and optimizer states from gradients.
#include <functional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

/// Applies `step` to each parameter. A node's operands are a rate, a step count, and then the tensors of each kind (parameters, gradients,
/// states), each kind for all parameters; `step` gets those of one parameter. Results have the same order.
Values for_each_parameter(Call& c, std::size_t kinds, const std::function<Parts(const Parts& tensors)>& step) {
  if (c.operands() < 2 + kinds || (c.operands() - 2) % kinds != 0)
    return c.mistake(DiagnosticKind::type,
                     "`" + std::string(c.op()) + "` takes a rate, a count, and " + std::to_string(kinds) + " tensors for each parameter");
  const std::size_t count = (c.operands() - 2) / kinds;
  Values results;
  for (std::size_t i = 0; i < count; ++i) {
    Parts tensors;
    for (std::size_t kind = 0; kind < kinds; ++kind) tensors.push_back(c[2 + kind * count + i]);
    const Parts made = step(tensors);
    if (results.empty()) results.resize(made.size() * count);
    for (std::size_t kind = 0; kind < made.size(); ++kind)
      results[kind * count + i] = c.as(tensors[kind == 0 ? 0 : kind + 1].dtype(), made[kind]);
  }
  return results;
}

/// The gradient plus that of the L2 penalty.
Part regularized(Call& c, const Part& parameter, const Part& gradient) {
  const double factor = c.number("norm_coefficient", 0);
  return factor == 0 ? gradient : c.add(c.multiply(parameter, factor), gradient);
}

Part started(Call& c) {
  return c(op::greater, {c[1], 0});
}

Values adagrad(Call& c) {
  const double decay = c.number("decay_factor", 0), epsilon = c.number("epsilon", 1e-6F);
  return for_each_parameter(c, 3, [&](const Parts& of) {
    const DType dtype = of[0].dtype();
    const Part rate = c.divide(c.as(dtype, c[0]), c.add(c.multiply(c.as(dtype, c[1]), decay), 1));
    const Part gradient = regularized(c, of[0], of[1]);
    const Part squares = c.add(of[2], c(op::square, {gradient}));
    return Parts{c.subtract(of[0], c.divide(c.multiply(rate, gradient), c.add(c(op::sqrt, {squares}), epsilon))), squares};
  });
}

Values adam(Call& c) {
  const double alpha = c.number("alpha", 0.9F), beta = c.number("beta", 0.999F), epsilon = c.number("epsilon", 1e-6F);
  const double behind = c.number("norm_coefficient_post", 0);
  return for_each_parameter(c, 4, [&](const Parts& of) {
    const DType dtype = of[0].dtype();
    const Part rate = c.as(dtype, c[0]), count = c.as(dtype, c(op::maximum, {c[1], 1}));
    const auto rest = [&](double base) { return c.subtract(1, c(op::pow, {base, count})); };
    const Part corrected = c.divide(c.multiply(rate, c(op::sqrt, {rest(beta)})), rest(alpha));
    const Part gradient = regularized(c, of[0], of[1]);
    const Part mean = c.add(c.multiply(of[2], alpha), c.multiply(gradient, 1 - alpha));
    const Part squares = c.add(c.multiply(of[3], beta), c.multiply(c(op::square, {gradient}), 1 - beta));
    const Part change = c.divide(mean, c.add(c(op::sqrt, {squares}), epsilon));
    const Part next = c.subtract(of[0], c.multiply(c(op::where, {started(c), corrected, rate}), change));
    return Parts{behind == 0 ? next : c.multiply(next, 1 - behind), mean, squares};
  });
}

/// In the first step, the gradient is not scaled by `beta`.
Values momentum(Call& c) {
  const double alpha = c.number("alpha", 0), beta = c.number("beta", 0);
  const std::string mode = c.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return c.mistake(DiagnosticKind::value, "`Momentum`: `mode` is standard or nesterov, not " + mode);
  if (!c.has_attribute("alpha") || !c.has_attribute("beta")) return c.mistake(DiagnosticKind::value, "`Momentum` needs `alpha` and `beta`");
  return for_each_parameter(c, 3, [&](const Parts& of) {
    const DType dtype = of[0].dtype();
    const Part gradient = regularized(c, of[0], of[1]);
    const Part share = c(op::where, {started(c), c.number_as(dtype, beta), c.number_as(dtype, 1)});
    const Part kept = c.add(c.multiply(of[2], alpha), c.multiply(share, gradient));
    const Part change = mode == "standard" ? kept : c.add(gradient, c.multiply(kept, alpha));
    return Parts{c.subtract(of[0], c.multiply(c.as(dtype, c[0]), change)), kept};
  });
}

}  // namespace

std::span<const Lowering> training_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ai.onnx.preview.training.Adagrad", 1, adagrad},
      {"ai.onnx.preview.training.Adam", 1, adam},
      {"ai.onnx.preview.training.Momentum", 1, momentum},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
