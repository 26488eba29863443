// Lowerings of products and convolutions of quantized values.
#include "models/onnx/lengths.h"
#include "models/onnx/quantized.h"
#include "models/onnx/quantized_origin.h"
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
  const Part factor = c.multiply(a.scale, whole_or_vector(c, c[2]));
  if (are_plain_factors(c, 0, kNoOperand, 3) && c[1].rank() == 2 && factor.rank() <= 1)
    return {
        with_bias(c, c(op::quantized_matmul, {a.steps, c[1], a.zero_point, zero_or_none(c, 3, 1), c.number_as(DType::i32, 0), factor}), 4)};
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

/// The factor of sums of scale `scale` for a result of f32, or of the scale in operand `of_result`; nothing if it is none for each column.
std::optional<Part> column_factor(Call& c, const Part& scale, std::size_t of_result) {
  const Part factor = c.as(DType::f32, c.divide(scale, whole_or_vector(c, c[of_result])));
  const bool one_zero = !c.has(of_result + 1) || whole_or_vector(c, c[of_result + 1]).rank() == 0;
  return factor.rank() <= 1 && one_zero ? std::optional(factor) : std::nullopt;
}

Values qlinear_matmul(Call& c) {
  if (!are_small_integers(c, {0, 3}) || !are_rows_scaled(c, 0, 1, 2) || !are_columns_scaled(c, 3, 4, 5)) return c.poison();
  if (const Part a_scale = whole_or_vector(c, c[1]), b_scale = whole_or_vector(c, c[4]);
      are_plain_factors(c, 0, 2, 5) && c[3].rank() >= 2 && a_scale.rank() == 0 && b_scale.rank() <= 1 && !bounded(c, c[3])) {
    if (const std::optional<Part> factor = column_factor(c, c.multiply(a_scale, b_scale), 6))
      return {c(op::quantized_matmul,
                {c[0], c[3], zero_or_none(c, 2, 0), zero_or_none(c, 5, 3), c.number_as(DType::i32, 0), *factor, zero_or_none(c, 7, 0)})};
  }
  const Part sums = integer_product(c, 0, 2, 3, 5);
  return rescaled(c, sums, c.multiply(along(c, c[1], -2), along(c, c[4], -1)), 6, c[0].dtype());
}

/// The same as one operation; nothing if C is not one number, or one for each column.
std::optional<Part> qgemm_of_integers(Call& c, double alpha, bool turns_a, bool turns_b) {
  const Part b_scale = whole_or_vector(c, c[4]);
  if (!are_plain_factors(c, 0, 2, 5) || b_scale.rank() > 1) return std::nullopt;
  Part bias = c.has(6) ? whole_or_vector(c, c[6]) : c.number_as(DType::i32, 0);
  const Part a = turns_a ? c(op::transpose, {c[0]}) : c[0], b = turns_b ? c(op::transpose, {c[3]}) : c[3];
  if (bias.rank() == 2 && bias.shape()[0] == 1) bias = c.reshape(bias, {bias.shape()[1]});
  if (bias.dtype() != DType::i32 || (bias.rank() > 0 && bias.shape() != Shape{b.shape().back()})) return std::nullopt;
  Part scale = c.multiply(whole_or_vector(c, c[1]), b_scale);
  if (alpha != 1) scale = c.multiply(scale, alpha);
  Parts operands = {a, b, zero_or_none(c, 2, 0), zero_or_none(c, 5, 3), bias};
  if (!c.has(7)) {
    operands.push_back(c.as(DType::f32, scale));
    return c(op::quantized_matmul, operands);
  }
  const std::optional<Part> factor = column_factor(c, scale, 7);
  if (!factor) return std::nullopt;
  operands.push_back(*factor);
  operands.push_back(zero_or_none(c, 8, 0));
  return c(op::quantized_matmul, operands);
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
  if (std::optional<Part> y = qgemm_of_integers(c, alpha, turns_a, turns_b)) return {*std::move(y)};
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

Attributes convolution_attributes(Call& c) {
  Attributes attributes = window_attributes(c);
  if (const std::int64_t groups = c.integer("group", 1); groups != 1) attributes.set("group", groups);
  return attributes;
}

/// Whether scale and zero point have one element, or one for each output channel of a weight. If not, it is reported.
bool are_channels_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point) {
  return are_scaled(c, of, scale, zero_point, c[of].rank() == 0 ? 1 : c[of].shape()[0], "output channels");
}

Values conv_integer(Call& c) {
  if (!are_small_integers(c, {0, 1}) || !is_zero_point(c, 2, 0) || !are_channels_scaled(c, 1, kNoOperand, 3)) return c.poison();
  c.ignore({"kernel_shape"});  // the weight's
  return {c(op::quantized_conv, {c[0], c[1], zero_or_none(c, 2, 0), zero_or_none(c, 3, 1)}, convolution_attributes(c))};
}

/// The bias has the scale of the product of both scales.
Values qlinear_conv(Call& c) {
  if (!is_quantized(c, 0) || !are_small_integers(c, {3}) || !are_channels_scaled(c, 3, 4, 5) || !is_scale(c, 6)) return c.poison();
  c.ignore({"kernel_shape"});  // the weight's
  const bool last = c.flag("channels_last");
  const Part scale = c.multiply(whole_or_vector(c, c[1]), whole_or_vector(c, c[4]));
  const std::optional<Part> factor = column_factor(c, scale, 6);
  if (!factor) return c.unsupported("with several scales or zero points of its result");
  const Part bias = c.has(8) ? c[8] : c.number_as(DType::i32, 0);
  const Part y =
      c(op::quantized_conv,
        {channels_first(c, c[0], last), c[3], zero_or_none(c, 2, 0), zero_or_none(c, 5, 3), bias, *factor, zero_or_none(c, 7, 0)},
        convolution_attributes(c));
  return {channels_back(c, y, last)};
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
