// Lowerings of products and convolutions of quantized values.
#include "models/onnx/quantized.h"
#include "models/onnx/windows.h"

namespace cleave::models::onnx {
namespace {

Values matmul_integer(Call& c) {
  return {integer_product(c, 0, 2, 1, 3)};
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
  const Part sums = integer_product(c, 0, 2, 3, 5);
  return rescaled(c, sums, c.multiply(along(c, c[1], -2), along(c, c[4], -1)), 6, c[0].dtype());
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

Values conv_integer(Call& c) {
  const Part x = centred(c, 0, 2, DType::f32, -1), weight = centred(c, 1, 3, DType::f32, -c[1].rank());
  return {c.as(DType::i32, convolution(c, x, weight, std::nullopt, true))};
}

/// The bias has the scale of the product of both scales.
Values qlinear_conv(Call& c) {
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
  };
  return kRows;
}

}  // namespace cleave::models::onnx
