// Lowerings of quantization, dequantization, and products of quantized values.
#include "models/onnx/broadcasting.h"
#include "models/onnx/windows.h"

namespace cleave::models::onnx {
namespace {

/// A scale or zero point of one element applies to the whole tensor, with or without an axis.
Part whole_or_vector(Call& c, const Part& part) {
  return part.rank() > 0 && part.type().elements() == 1 ? c.reshape(part, {}) : part;
}

// --- quantization and dequantization -----------------------------------------------------------------------------------------------------

/// The granularity of a scale: one for the tensor, one for each index of an axis, or one for each block of an axis.
struct Granularity {
  std::int64_t axis = 0;
  std::int64_t block = 0;  ///< 0: no blocks
};

std::optional<Granularity> granularity(Call& c) {
  const Part &x = c[0], &scale = c[1];
  const std::int64_t given = c.integer("axis", 1), block = c.integer("block_size", 0);
  if (scale.type().elements() == 1) return Granularity{};
  const std::optional<int> axis = c.axis(x.rank() == 1 ? 0 : given, x.rank());
  if (!axis) return std::nullopt;
  if (block == 0) return Granularity{*axis, 0};
  Shape wanted = x.shape();
  std::int64_t& extent = wanted[static_cast<std::size_t>(*axis)];
  if (block > 0) extent = (extent + block - 1) / block;
  if (block > 0 && scale.shape() == wanted) return Granularity{*axis, block};
  c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: a scale " + to_string(scale.type()) + " is not one for each " +
                                       std::to_string(block) + " elements of axis " + std::to_string(*axis) + " of " + to_string(x.type()));
  return std::nullopt;
}

/// Expands values given for each block to the blocks' elements.
Part of_blocks(Call& c, const Part& blocks, const Granularity& by) {
  const Part repeated = c(op::repeat, {blocks}, {{"repeats", by.block}, {"axis", by.axis}});
  const Shape shape = c[0].shape();
  if (repeated.shape() == shape) return repeated;
  return c(op::slice, {repeated}, {{"starts", Shape(shape.size(), 0)}, {"stops", shape}});
}

/// The element type that an attribute names; nothing for 0.
std::optional<DType> named_type(Call& c, const char* attribute) {
  return c.integer(attribute, 0) == 0 ? std::nullopt : c.dtype(attribute);
}
/// Whether the attribute names a type that cleave lacks, which was reported.
bool lacks_type(Call& c, const char* attribute, const std::optional<DType>& found) {
  return !found && c.integer(attribute, 0) != 0;
}

Values quantize_linear(Call& c) {
  c.ignore({"saturate"});  // for element types that cleave lacks
  const std::optional<DType> wanted = named_type(c, "output_dtype"), precision = named_type(c, "precision");
  const std::optional<Granularity> by = granularity(c);
  if (!by || lacks_type(c, "output_dtype", wanted) || lacks_type(c, "precision", precision)) return c.poison();
  Part x = is_floating(c[0].dtype()) ? c[0] : c.as(DType::f32, c[0]), scale = whole_or_vector(c, c[1]);
  const DType dtype = c.has(2) ? c[2].dtype() : wanted.value_or(DType::u8);
  if (precision) x = c.as(*precision, x), scale = c.as(*precision, scale);
  if (by->block == 0) {
    Parts operands{x, scale};
    if (c.has(2)) operands.push_back(whole_or_vector(c, c[2]));
    return {c(op::quantize, operands, {{"axis", by->axis}, {"dtype", dtype}})};
  }
  const DType wide = promote(promote(x.dtype(), scale.dtype()), DType::f32);
  Part steps = c(op::round, {c.divide(c.as(wide, x), of_blocks(c, c.as(wide, scale), *by))});
  if (c.has(2)) steps = c.add(steps, of_blocks(c, c.as(wide, c[2]), *by));
  return {c.as(dtype, steps)};
}

Values dequantize_linear(Call& c) {
  const std::optional<DType> wanted = named_type(c, "output_dtype");
  const std::optional<Granularity> by = granularity(c);
  if (!by || lacks_type(c, "output_dtype", wanted)) return c.poison();
  const Part scale = c.as(wanted.value_or(c[1].dtype()), whole_or_vector(c, c[1]));
  if (by->block == 0) {
    Parts operands{c[0], scale};
    if (c.has(2)) operands.push_back(whole_or_vector(c, c[2]));
    return {c(op::dequantize, operands, {{"axis", by->axis}})};
  }
  const DType wide = promote(scale.dtype(), DType::f32);
  Part steps = c.as(wide, c[0]);
  if (c.has(2)) steps = c.subtract(steps, of_blocks(c, c.as(wide, c[2]), *by));
  return {c.as(scale.dtype(), c.multiply(steps, of_blocks(c, c.as(wide, scale), *by)))};
}

/// Quantizes to u8, with scale and zero point from the smallest and largest element. The range always includes 0.
Values dynamic_quantize_linear(Call& c) {
  const Part& x = c[0];
  const Part most = c(op::maximum, {c(op::max, {x}), 0}), least = c(op::minimum, {c(op::min, {x}), 0});
  const Part range = c.subtract(most, least);
  const Part scale = c.divide(c(op::where, {c(op::equal, {range, 0}), 1, range}), 255);
  const Part zero_point = c.as(DType::u8, c(op::round, {c(op::clip, {c.divide(c(op::negative, {least}), scale), 0, 255})}));
  return {c(op::quantize, {x, scale, zero_point}), scale, zero_point};
}

// --- products ----------------------------------------------------------------------------------------------------------------------------

/// A vector of zero points or scales, shaped to broadcast along axis `axis` of its operand, counted from the end.
Part along(Call& c, const Part& part, int axis) {
  const Part one = whole_or_vector(c, part);
  return axis < -1 && one.rank() == 1 ? along_axis(c, one, 0, -axis) : one;
}

/// An operand minus its zero point; unchanged if the zero point is 0.
Part centred(Call& c, std::size_t operand, std::size_t zero_point, DType wide, int axis) {
  const Part& x = c[operand];
  if (!c.has(zero_point)) return x;
  const std::optional<Array> known = c.known(zero_point);
  bool zero = known.has_value();
  for (std::int64_t i = 0; zero && i < known->size(); ++i) zero = known->at(i) == 0;
  return zero ? x : c.subtract(c.as(wide, x), along(c, c.as(wide, c[zero_point]), axis));
}

Values matmul_integer(Call& c) {
  return {c.as(DType::i32, c(op::matmul, {centred(c, 0, 2, DType::i32, -2), centred(c, 1, 3, DType::i32, -1)}))};
}

/// Rescales integer sums, of scale `scale`, to the scale and zero point of the result.
Values requantized(Call& c, const Part& sums, const Part& scale, std::size_t of_result, DType otherwise) {
  const Part factor = c.as(DType::f32, c.divide(scale, whole_or_vector(c, c[of_result])));
  Part steps = c(op::round, {c.multiply(c.as(DType::f32, sums), factor)});
  const std::size_t zero_point = of_result + 1;
  if (c.has(zero_point)) steps = c.add(steps, c.as(DType::f32, whole_or_vector(c, c[zero_point])));
  return {c.as(c.has(zero_point) ? c[zero_point].dtype() : otherwise, steps)};
}

Values qlinear_matmul(Call& c) {
  const Part sums = c(op::matmul, {centred(c, 0, 2, DType::i32, -2), centred(c, 3, 5, DType::i32, -1)});
  return requantized(c, sums, c.multiply(along(c, c[1], -2), along(c, c[4], -1)), 6, c[0].dtype());
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
  const Part x = centred(c, 0, 2, DType::f32, -1), weight = centred(c, 3, 5, DType::f32, -rank);
  const Part sums = convolution(c, x, weight, c.has(8) ? std::optional(c[8]) : std::nullopt, false);
  return requantized(c, sums, c.multiply(along(c, c[1], -1), along(c, c[4], 1 - rank)), 6, c[0].dtype());
}

}  // namespace

std::span<const Lowering> quantization_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ConvInteger", 10, conv_integer},
      {"DequantizeLinear", 10, dequantize_linear},
      {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
      {"MatMulInteger", 10, matmul_integer},
      {"QLinearConv", 10, qlinear_conv},
      {"QLinearMatMul", 10, qlinear_matmul},
      {"QuantizeLinear", 10, quantize_linear},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
