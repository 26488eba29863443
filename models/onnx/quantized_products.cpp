// Lowerings of products and convolutions of quantized values.
#include "models/onnx/quantized.h"
#include "models/onnx/windows.h"

namespace cleave::models::onnx {
namespace {

/// The same for the rows of the first operand of a product.
bool are_rows_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point) {
  const Shape shape = c[of].shape();
  return are_scaled(c, of, scale, zero_point, shape.size() < 2 ? 1 : shape[shape.size() - 2], "rows");
}

Values matmul_integer(Call& c) {
  if (!are_small_integers(c, {0, 1}) || !are_rows_scaled(c, 0, kNoOperand, 2) || !are_columns_scaled(c, 1, kNoOperand, 3))
    return c.poison();
  return {integer_product(c, 0, 2, 1, 3)};
}

/// Operands and result without zero points, of 16 bits.
Values matmul_integer_16(Call& c) {
  return {c.as(DType::i32, c(op::matmul, {c[0], c[1]}))};
}

Part with_bias(Call& c, const Part& y, std::size_t bias) {
  return c.has(bias) ? c.add(y, c[bias]) : y;
}

/// The sums times the product of both scales, plus a bias.
Values matmul_integer_to_float(Call& c) {
  if (!are_small_integers(c, {0, 1}) || !are_rows_scaled(c, 0, 2, 4) || !are_columns_scaled(c, 1, 3, 5)) return c.poison();
  const Part sums = c.as(DType::f32, integer_product(c, 0, 4, 1, 5));
  const Part scale = c.multiply(along(c, c[2], -2), along(c, c[3], -1));
  return {with_bias(c, c.multiply(sums, scale), 6)};
}

/// The same with A of f32, quantized when it is known.
Values dynamic_quantize_matmul(Call& c) {
  if (!are_small_integers(c, {1}) || !are_columns_scaled(c, 1, 2, 3)) return c.poison();
  const DynamicallyQuantized a = dynamically_quantized(c, c[0]);
  const Part left = c.subtract(c.as(DType::i32, a.steps), c.as(DType::i32, a.zero_point)), right = centred(c, 1, 3, DType::i32, -1);
  const Part sums = c.as(DType::f32, c(op::matmul, {left, right}));
  const Part scale = c.multiply(a.scale, along(c, c[2], -1));
  return {with_bias(c, c.multiply(sums, scale), 4)};
}

/// Rescales integer sums, of scale `scale`, to the scale and zero point of the result.
Values rescaled(Call& c, const Part& sums, const Part& scale, std::size_t of_result, DType otherwise) {
  const Part factor = c.as(DType::f32, c.divide(scale, whole_or_vector(c, c[of_result])));
  Part steps = c(op::round, {c.multiply(c.as(DType::f32, sums), factor)});
  const std::size_t zero_point = of_result + 1;
  if (c.has(zero_point)) steps = c.add(steps, c.as(DType::f32, whole_or_vector(c, c[zero_point])));
  return {c.as(c.has(zero_point) ? c[zero_point].dtype() : otherwise, steps)};
}

Values qlinear_matmul(Call& c) {
  if (!are_small_integers(c, {0, 3}) || !are_rows_scaled(c, 0, 1, 2) || !are_columns_scaled(c, 3, 4, 5)) return c.poison();
  const Part sums = integer_product(c, 0, 2, 3, 5);
  return rescaled(c, sums, c.multiply(along(c, c[1], -2), along(c, c[4], -1)), 6, c[0].dtype());
}

/// `alpha * A * B + C`, where C has the scale of the product. Without a scale the result is f32.
Values qgemm(Call& c) {
  const double alpha = c.number("alpha", 1);
  const bool turns_a = c.flag("transA"), turns_b = c.flag("transB");
  if (!are_small_integers(c, {0, 3}) || !is_scale(c, 1) || !is_zero_point(c, 2, 0)) return c.poison();
  if (c[0].rank() != 2 || c[3].rank() != 2)
    return c.mistake(DiagnosticKind::shape, "`QGemm` of " + titled(c, 0) + " and " + titled(c, 3) + ", which must be matrices");
  const std::int64_t columns = c[3].shape()[turns_b ? 0 : 1];
  if (!are_scaled(c, 3, 4, 5, columns, "columns") || (c.has(7) && !is_scale(c, 7))) return c.poison();
  // A zero point for each column lies along the first axis of a transposed B.
  const Part a = centred(c, 0, 2, DType::i32, -2), b = centred(c, 3, 5, DType::i32, turns_b ? -2 : -1);
  const Part left = turns_a ? c(op::transpose, {a}) : a, right = turns_b ? c(op::transpose, {b}) : b;
  const Part sums = with_bias(c, c.as(DType::i32, c(op::matmul, {left, right})), 6);
  Part scale = c.multiply(whole_or_vector(c, c[1]), along(c, c[4], -1));
  if (alpha != 1) scale = c.multiply(scale, alpha);
  if (!c.has(7)) return {c.multiply(c.as(DType::f32, sums), scale)};
  return rescaled(c, sums, scale, 7, c[0].dtype());
}

// --- convolutions ------------------------------------------------------------------------------------------------------------------------

/// The convolution of quantized values, in floating point: f64 if `exact` and f32 could not represent all sums.
Part convolution(Call& c, Part x, Part weight, const std::optional<Part>& bias, bool exact) {
  constexpr double kMostStep = 255, kExactInF32 = 1 << 24;
  c.ignore({"kernel_shape"});  // the weight's
  Attributes attributes = window_attributes(c);
  if (const std::int64_t groups = c.integer("group", 1); groups != 1) attributes.set("group", groups);
  const Shape extents = weight.shape();
  const double terms =
      extents.empty() || extents[0] == 0 ? 0 : static_cast<double>(weight.type().elements()) / static_cast<double>(extents[0]);
  const DType wide = exact && terms * kMostStep * kMostStep > kExactInF32 ? DType::f64 : DType::f32;
  Parts operands{c.as(wide, x), c.as(wide, weight)};
  if (bias) operands.push_back(c.as(wide, *bias));
  return c(op::conv, operands, std::move(attributes));
}

/// The same for the output channels of a weight.
bool are_channels_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point) {
  return are_scaled(c, of, scale, zero_point, c[of].rank() == 0 ? 1 : c[of].shape()[0], "output channels");
}

Values conv_integer(Call& c) {
  if (!are_small_integers(c, {0, 1}) || !is_zero_point(c, 2, 0) || !are_channels_scaled(c, 1, kNoOperand, 3)) return c.poison();
  const Part x = centred(c, 0, 2, DType::f32, -1), weight = centred(c, 1, 3, DType::f32, -c[1].rank());
  return {c.as(DType::i32, convolution(c, x, weight, std::nullopt, true))};
}

/// The bias has the scale of the product of both scales.
Values qlinear_conv(Call& c) {
  if (!is_quantized(c, 0) || !are_small_integers(c, {3}) || !are_channels_scaled(c, 3, 4, 5) || !is_scale(c, 6)) return c.poison();
  const int rank = c[3].rank();
  const bool last = c.flag("channels_last");
  const Part x = channels_first(c, centred(c, 0, 2, DType::f32, -1), last), weight = centred(c, 3, 5, DType::f32, -rank);
  const Part sums = channels_back(c, convolution(c, x, weight, c.has(8) ? std::optional(c[8]) : std::nullopt, false), last);
  const Part scale = c.multiply(along(c, c[1], -1), along(c, c[4], last ? -1 : 1 - rank));
  return rescaled(c, sums, scale, 6, c[0].dtype());
}

}  // namespace

std::span<const Lowering> quantized_product_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ConvInteger", 10, conv_integer},
      {"MatMulInteger", 10, matmul_integer},
      {"QLinearConv", 10, qlinear_conv},
      {"QLinearMatMul", 10, qlinear_matmul},
      {"com.microsoft.DynamicQuantizeMatMul", 1, dynamic_quantize_matmul},
      {"com.microsoft.MatMulInteger16", 1, matmul_integer_16},
      {"com.microsoft.MatMulIntegerToFloat", 1, matmul_integer_to_float},
      {"com.microsoft.QGemm", 1, qgemm},
      {"com.microsoft.QLinearConv", 1, qlinear_conv},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
