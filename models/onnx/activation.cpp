#include "models/onnx/activation.h"

#include <functional>

#include "models/onnx/broadcasting.h"
#include "models/onnx/quantized_origin.h"

namespace cleave::models::onnx {

Part activated(Call& c, const Activation& activation, const Part& x) {
  const auto number = [&](double value) { return c.number_as(x.dtype(), value); };
  const auto scaled = [&](const Part& y) { return c.multiply(y, number(activation.alpha)); };
  const std::string& name = activation.name;
  if (name == "affine") return c.add(scaled(x), number(activation.beta));
  if (name == "leakyrelu") return c(op::where, {c(op::less, {x, 0}), scaled(x), x});
  if (name == "thresholdedrelu") return c(op::where, {c(op::greater, {x, number(activation.alpha)}), x, number(0)});
  if (name == "scaledtanh") return scaled(c(op::tanh, {c.multiply(x, number(activation.beta))}));
  if (name == "hardsigmoid") return c(op::clip, {c.add(scaled(x), number(activation.beta)), number(0), number(1)});
  if (name == "hardswish") return c.multiply(x, c(op::clip, {c.add(c.multiply(x, number(1.0 / 6)), number(0.5)), number(0), number(1)}));
  if (name == "clip") return c(op::clip, {x, number(activation.alpha), number(activation.beta)});
  if (name == "elu") return c(op::where, {c(op::less, {x, 0}), scaled(c(op::expm1, {x})), x});
  if (name == "selu") return c.multiply(activated(c, {"elu", activation.alpha}, x), number(activation.gamma));
  if (name == "celu") {
    const Part below = scaled(c(op::expm1, {c.divide(x, number(activation.alpha))}));
    return c(op::where, {c(op::less, {x, 0}), below, x});
  }
  if (name == "softsign") return c.divide(x, c.add(c(op::abs, {x}), number(1)));
  if (name == "softplus") return c(op::logaddexp, {x, number(0)});
  if (name == "parametricsoftplus") return scaled(c(op::logaddexp, {c.multiply(x, number(activation.beta)), number(0)}));
  return c(*find_op(name), {x});
}

Part swish(Call& c, const Part& x, double alpha) {
  return c.multiply(x, c(op::sigmoid, {alpha == 1 ? x : c.multiply(x, alpha)}));
}

Part tanh_gelu(Call& c, const Part& x) {
  constexpr double kFactor = 1.5957691216057308;  // 2 * sqrt(2 / pi)
  const Part slope = c.add(c.multiply(c(op::square, {x}), 0.044715 * kFactor), kFactor);
  return c.multiply(x, c(op::sigmoid, {c.multiply(x, slope)}));
}

namespace {

using Integers = std::vector<std::int64_t>;

Part times(Call& c, const Part& x, double factor) {
  return factor == 1 ? x : c.multiply(x, factor);
}

Values relu(Call& c) {
  c.ignore({"consumed_inputs"});
  return {with_relu(c, c(op::relu, {c[0]}))};
}

Values elu(Call& c) {
  c.ignore({"consumed_inputs"});
  const Part& x = c[0];
  return {c(op::where, {c(op::less, {x, 0}), times(c, c(op::expm1, {x}), c.number("alpha", 1)), x})};
}

Values celu(Call& c) {
  const double alpha = c.number("alpha", 1);
  const Part below = times(c, c(op::expm1, {times(c, c[0], 1 / alpha)}), alpha);
  return {c.add(c(op::relu, {c[0]}), c(op::minimum, {below, 0}))};
}

Values selu(Call& c) {
  c.ignore({"consumed_inputs"});
  const bool old = c.version() < 6;
  const double alpha = c.number("alpha", old ? 1.6732F : 1.67326319217681884765625),
               gamma = c.number("gamma", old ? 1.0507F : 1.05070102214813232421875);
  const Part& x = c[0];
  return {times(c, c(op::where, {c(op::greater, {x, 0}), x, times(c, c(op::expm1, {x}), alpha)}), gamma)};
}

Values leaky_relu(Call& c) {
  c.ignore({"consumed_inputs"});
  const Part& x = c[0];
  return {c(op::where, {c(op::less, {x, 0}), times(c, x, c.number("alpha", 0.01F)), x})};
}

/// Before version 7, a slope of several elements is one for each channel.
Values prelu(Call& c) {
  c.ignore({"consumed_inputs"});
  const Part& x = c[0];
  Part slope = c[1];
  if (c.version() < 7 && slope.type().elements() > 1 && x.rank() > 1) slope = along_axis(c, slope, 1, x.rank());
  if (broadcast(slope.shape(), x.shape()) != x.shape())
    return c.mistake(DiagnosticKind::shape,
                     "`PRelu`: the slope " + to_string(slope.type()) + " does not broadcast to " + to_string(x.type()));
  return {c(op::where, {c(op::less, {x, 0}), c.multiply(x, slope), x})};
}

Values hard_sigmoid(Call& c) {
  c.ignore({"consumed_inputs"});
  const Part line = c.add(times(c, c[0], c.number("alpha", 0.2F)), c.number("beta", 0.5));
  return {c(op::clip, {line, 0, 1})};
}

Values hard_swish(Call& c) {
  return {c.multiply(c[0], c(op::clip, {c.add(c.multiply(c[0], 1.0 / 6), 0.5), 0, 1}))};
}

Values gelu(Call& c) {
  const std::string approximate = c.text("approximate", "none");
  if (approximate == "none") return {c(op::gelu, {c[0]})};
  if (approximate != "tanh") return c.unsupported("with `approximate` = \"" + approximate + "\"");
  return {tanh_gelu(c, c[0])};
}

Part softplus_of(Call& c, const Part& x) {
  return c(op::logaddexp, {x, 0});
}

Values softplus(Call& c) {
  return {softplus_of(c, c[0])};
}

Values mish(Call& c) {
  return {c.multiply(c[0], c(op::tanh, {softplus_of(c, c[0])}))};
}

Values softsign(Call& c) {
  return {c.divide(c[0], c.add(c(op::abs, {c[0]}), 1))};
}

Values thresholded_relu(Call& c) {
  return {c(op::where, {c(op::greater, {c[0], c.number("alpha", 1)}), c[0], 0})};
}

Values shrink(Call& c) {
  const Part& x = c[0];
  const double limit = c.number("lambd", 0.5), bias = c.number("bias", 0);
  const Part up = bias == 0 ? x : c.add(x, bias), down = bias == 0 ? x : c.subtract(x, bias);
  return {c.as(x.dtype(), c(op::where, {c(op::less, {x, -limit}), up, c(op::where, {c(op::greater, {x, limit}), down, 0})}))};
}

double swish_factor(Call& c) {
  return c.number("alpha", 1);
}

Values swish_node(Call& c) {
  return {swish(c, c[0], swish_factor(c))};
}

Values swiglu(Call& c) {
  if (c[0].shape() != c[1].shape())
    return c.mistake(DiagnosticKind::shape, "`SwiGLU` of " + to_string(c[0].type()) + " and " + to_string(c[1].type()) + ", which differ");
  return {c.multiply(swish(c, c[0], swish_factor(c)), c[1])};
}

/// Applies `function` along one axis. Before version 13, it applies to all axes from `axis` on, flattened to one.
Values along_axes(Call& c, const std::function<Part(const Part& x, int axis)>& function) {
  const int rank = c[0].rank();
  const std::optional<int> axis = c.axis(c.integer("axis", c.version() >= 13 || rank < 2 ? -1 : 1), rank);
  if (!axis) return c.poison();
  if (c.version() >= 13 || *axis + 1 == rank) return {function(c[0], *axis)};
  const Shape shape = c[0].shape();
  Shape flat(shape.begin(), shape.begin() + *axis);
  std::int64_t count = 1;
  for (auto each = shape.begin() + *axis; each != shape.end(); ++each) count *= *each;
  flat.push_back(count);
  return {c.reshape(function(c.reshape(c[0], flat), *axis), shape)};
}

Values softmax(Call& c) {
  return along_axes(c, [&](const Part& x, int axis) { return c(c.function(), {x}, {{"axis", std::int64_t{axis}}}); });
}

Values hardmax(Call& c) {
  return along_axes(c, [&](const Part& x, int axis) {
    const auto at = static_cast<std::int64_t>(axis);
    const Part largest = c(op::argmax, {x}, {{"axis", Integers{at}}});
    const Part hot = c(op::one_hot, {largest}, {{"depth", x.shape()[static_cast<std::size_t>(axis)]}, {"dtype", x.dtype()}});
    return axis + 1 == x.rank() ? hot : c(op::moveaxis, {hot}, {{"source", Integers{-1}}, {"destination", Integers{at}}});
  });
}

}  // namespace

std::span<const Lowering> activation_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Celu", 12, celu, {}, true},
      {"Elu", 1, elu, {}, true},
      {"Gelu", 20, gelu, {}, true},
      {"HardSigmoid", 1, hard_sigmoid, {}, true},
      {"HardSwish", 14, hard_swish, {}, true},
      {"Hardmax", 1, hardmax},
      {"LeakyRelu", 1, leaky_relu, {}, true},
      {"LogSoftmax", 1, softmax, &op::log_softmax, true},
      {"Mish", 18, mish, {}, true},
      {"PRelu", 1, prelu, {}, true},
      {"Relu", 1, relu, {}, true},
      {"Selu", 1, selu, {}, true},
      {"Shrink", 9, shrink, {}, true},
      {"Softmax", 1, softmax, &op::softmax, true},
      {"Softplus", 1, softplus, {}, true},
      {"Softsign", 1, softsign, {}, true},
      {"SwiGLU", 28, swiglu, {}, true},
      {"Swish", 24, swish_node, {}, true},
      {"ThresholdedRelu", 1, thresholded_relu, {}, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
