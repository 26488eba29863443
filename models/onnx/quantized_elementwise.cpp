// Lowerings of ONNX Runtime's element-wise operators of quantized values. Scales and zero points follow each operand. Where ONNX Runtime
// adds the zero point before it rounds, these do too.
#include "models/onnx/pieces.h"
#include "models/onnx/quantized.h"

namespace cleave::models::onnx {
namespace {

/// Operands 0 and 3 are quantized alike, and the result's scale is operand 6.
bool two_quantized(Call& c) {
  if (!is_quantized(c, 0, 6) || !is_quantized(c, 3)) return false;
  if (c[0].dtype() == c[3].dtype()) return true;
  c.mistake(DiagnosticKind::type,
            "`" + std::string(c.op()) + "` of " + titled(c, 0) + " and " + titled(c, 3) + ", which must be of one type");
  return false;
}

/// `a * ratio_a + (b * ratio_b + rest)`: the zero points are part of `rest`.
Values qlinear_add(Call& c) {
  if (!two_quantized(c)) return c.poison();
  const auto ratio = [&](std::size_t scale) { return c.divide(whole_or_vector(c, c[scale]), whole_or_vector(c, c[6])); };
  const Part ratio_a = ratio(1), ratio_b = ratio(4);
  const Part moved_a = c.multiply(zero_point_of(c, 2), ratio_a), moved_b = c.multiply(zero_point_of(c, 5), ratio_b);
  const Part rest = c.subtract(zero_point_of(c, 7), c.add(moved_a, moved_b));
  const Part a = c.multiply(c.as(DType::f32, c[0]), ratio_a), b = c.multiply(c.as(DType::f32, c[3]), ratio_b);
  return {c.as(c[0].dtype(), c(op::round, {c.add(c.add(b, rest), a)}))};
}

Values qlinear_mul(Call& c) {
  if (!two_quantized(c)) return c.poison();
  const Part scale = c.multiply(whole_or_vector(c, c[1]), whole_or_vector(c, c[4]));
  const Part ratio = c.divide(scale, whole_or_vector(c, c[6]));
  const Part a = c.subtract(c.as(DType::f32, c[0]), zero_point_of(c, 2)), b = c.subtract(c.as(DType::f32, c[3]), zero_point_of(c, 5));
  const Part steps = c.multiply(c.multiply(a, b), ratio);
  return {c.as(c[0].dtype(), c(op::round, {c.add(steps, zero_point_of(c, 7))}))};
}

Values qlinear_sigmoid(Call& c) {
  if (!is_quantized(c, 0, 3)) return c.poison();
  return {requantized(c, c(op::sigmoid, {dequantized(c, 0)}), 0, 3)};
}

Values qlinear_leaky_relu(Call& c) {
  const double alpha = c.number("alpha", 0.01F);
  if (!is_quantized(c, 0, 3)) return c.poison();
  const Part x = dequantized(c, 0);
  return {requantized(c, c(op::where, {c(op::less, {x, 0}), c.multiply(x, alpha), x}), 0, 3)};
}

/// Before operator set 13, all axes from `axis` on are one. The result is in steps of one over the next smaller integer than one over the
/// scale, as in ONNX Runtime: by 254 for a scale just above 1 / 255.
Values qlinear_softmax(Call& c) {
  const bool one_axis = c.integer("opset", 13) >= 13;
  const std::optional<int> axis = c.axis(c.integer("axis", -1), c[0].rank());
  if (!axis || !is_quantized(c, 0, 3)) return c.poison();
  const Shape shape = c[0].shape();
  Part x = dequantized(c, 0);
  if (!one_axis) {
    Shape flat(shape.begin(), shape.begin() + *axis);
    flat.push_back(extent_product(shape, static_cast<std::size_t>(*axis), shape.size()));
    x = c.reshape(x, flat);
  }
  const Part y = c.reshape(c(op::softmax, {x}, {{"axis", std::int64_t{*axis}}}), shape);
  const Part factor = c(op::floor, {c.divide(1.0F, whole_or_vector(c, c[3]))});
  const Part steps = c(op::round, {c.multiply(y, factor)});
  return {c.as(c[0].dtype(), c.add(steps, zero_point_of(c, 4)))};
}

Values qlinear_where(Call& c) {
  if (!is_quantized(c, 1, 7) || !is_quantized(c, 4)) return c.poison();
  if (c[0].dtype() != DType::boolean || c[1].dtype() != c[4].dtype())
    return c.mistake(DiagnosticKind::type, "`QLinearWhere` of " + titled(c, 0) + ", " + titled(c, 1) + " and " + titled(c, 4) +
                                               ": a bool, and two operands of one type");
  const Part x = requantized(c, dequantized(c, 1), 1, 7), y = requantized(c, dequantized(c, 4), 1, 7);
  return {c(op::where, {c[0], x, y})};
}

/// Operands 0 and 1 are the result's scale and zero point; each value is followed by its own.
Values qlinear_concat(Call& c) {
  const auto given = c.integer("axis");
  if (!given || c.operands() < 5 || c.operands() % 3 != 2)
    return c.mistake(DiagnosticKind::value, "`QLinearConcat` needs `axis`, and a scale and a zero point behind each value");
  if (!is_scale(c, 0)) return c.poison();
  Parts values;
  for (std::size_t i = 2; i < c.operands(); i += 3) {
    if (!is_quantized(c, i) || !is_zero_point(c, 1, i)) return c.poison();
    values.push_back(requantized(c, dequantized(c, i), i, 0));
  }
  const std::optional<int> axis = c.axis(*given, c[2].rank());
  return axis ? Values{c(op::concat, values, {{"axis", std::int64_t{*axis}}})} : c.poison();
}

}  // namespace

std::span<const Lowering> quantized_elementwise_lowerings() {
  static constexpr Lowering kRows[] = {
      {"com.microsoft.QLinearAdd", 1, qlinear_add},
      {"com.microsoft.QLinearConcat", 1, qlinear_concat},
      {"com.microsoft.QLinearLeakyRelu", 1, qlinear_leaky_relu},
      {"com.microsoft.QLinearMul", 1, qlinear_mul},
      {"com.microsoft.QLinearSigmoid", 1, qlinear_sigmoid},
      {"com.microsoft.QLinearSoftmax", 1, qlinear_softmax},
      {"com.microsoft.QLinearWhere", 1, qlinear_where},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
