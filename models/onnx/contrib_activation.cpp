// Lowerings of ONNX Runtime's activation functions, gates and additions of a bias, which its optimizer and exporters of transformers write.
#include "models/onnx/activation.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

Values exact_gelu(Call& c) {
  return {c(op::gelu, {c[0]})};
}

Part biased(Call& c) {
  return c.has(1) ? c.add(c[0], c[1]) : c[0];
}

Values bias_gelu(Call& c) {
  return {c(op::gelu, {c.add(c[0], c[1])})};
}

Values fast_gelu(Call& c) {
  return {tanh_gelu(c, biased(c))};
}

Values quick_gelu(Call& c) {
  return {swish(c, c[0], c.number("alpha", 1.702F))};
}

/// The left half of the last axis times GELU of the right half.
Values bias_split_gelu(Call& c) {
  const Part x = c.add(c[0], c[1]);
  const std::int64_t size = x.rank() == 0 ? 1 : x.shape().back();
  if (size % 2 != 0) return c.mistake(DiagnosticKind::shape, "`BiasSplitGelu` cannot halve the last axis of " + to_string(c[0].type()));
  const Part left = piece(c, x, x.rank() - 1, 0, size / 2), right = piece(c, x, x.rank() - 1, size / 2, size);
  return {c.multiply(left, c(op::gelu, {right}))};
}

Values bias_add(Call& c) {
  return {c.add(c.add(c[0], c[1]), c[2])};
}

/// Gates of newer language models: the scale is an operand, or `alpha`.
Values scaled_silu(Call& c) {
  const double alpha = c.number("alpha", 1);
  const Part x = c.as(promote(c[0].dtype(), DType::f32), c[0]);
  const Part scaled = c.has(1) ? c.multiply(x, c.as(x.dtype(), c[1])) : c.multiply(x, alpha);
  return {c.as(c[0].dtype(), swish(c, scaled, 1))};
}

Values gated_add(Call& c) {
  if (c.has(3)) return c.unsupported("with a weight of the gate");
  return {c.add(c[0], c.multiply(c[1], c[2]))};
}

/// Softmax of the sum over the axes from `axis` on, as one.
Values bias_softmax(Call& c) {
  c.ignore({"is_inner_broadcast"});  // follows from the shapes
  const Shape shape = c[0].shape();
  const std::optional<int> axis = c.axis(c.integer("axis", 1), c[0].rank());
  if (!axis) return c.poison();
  if (broadcast(c[1].shape(), shape) != shape)
    return c.mistake(DiagnosticKind::shape,
                     "`BiasSoftmax`: " + to_string(c[1].type()) + " does not broadcast to " + to_string(c[0].type()));
  Shape rows(shape.begin(), shape.begin() + *axis);
  rows.push_back(extent_product(shape, static_cast<std::size_t>(*axis), shape.size()));
  const Part sum = c.add(c[0], c[1]);
  return {c.reshape(c(op::softmax, {c.reshape(sum, rows)}), shape)};
}

}  // namespace

std::span<const Lowering> contrib_activation_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.BiasAdd", 1, bias_add},         {"com.microsoft.BiasGelu", 1, bias_gelu},
      {"com.microsoft.BiasSoftmax", 1, bias_softmax}, {"com.microsoft.BiasSplitGelu", 1, bias_split_gelu},
      {"com.microsoft.FastGelu", 1, fast_gelu},       {"com.microsoft.GatedAdd", 1, gated_add},
      {"com.microsoft.Gelu", 1, exact_gelu},          {"com.microsoft.QuickGelu", 1, quick_gelu},
      {"com.microsoft.ScaledSiLU", 1, scaled_silu},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
