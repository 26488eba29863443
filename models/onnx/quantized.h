// Quantized operands: checks of scales and zero points, and arithmetic that the families of quantized operators share.
#pragma once

#include <optional>
#include <string>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// A scale or zero point of one element applies to the whole tensor, with or without an axis.
Part whole_or_vector(Call& c, const Part& part);
/// The name and type of an operand, for messages: "`scale`, f32[3],".
std::string titled(Call& c, std::size_t operand);
/// Whether an operand is a scale: one element of floating point. If not, it is reported.
bool is_scale(Call& c, std::size_t scale);
/// Whether an operand is absent, or a zero point of one element of the type of `of`. If not, it is reported.
bool is_zero_point(Call& c, std::size_t zero_point, std::size_t of);
/// Whether operand `x` is of i8 or u8, with scale and zero point in the two operands behind it. If not, it is reported.
bool is_quantized(Call& c, std::size_t x);
/// The same, and the scale and zero point of the result, of that type, are operands `result` and `result + 1`.
bool is_quantized(Call& c, std::size_t x, std::size_t result);

/// Whether all these operands are of i8 or u8. If not, the first other one is reported.
bool are_small_integers(Call& c, std::initializer_list<std::size_t> operands);
inline constexpr std::size_t kNoOperand = 1000;  ///< the number of a scale or zero point that an operator does not have
/// Whether a scale of floating point and a zero point of the type of operand `of` are absent, have one element, or one for each of the
/// `count` rows, columns or channels (`what`) of the operand. If not, it is reported. Those with several axes broadcast.
bool are_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point, std::int64_t count, std::string_view what);
bool are_columns_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point);

/// The numbers that operand `x` stands for, in f32: scale and zero point are the operands behind it.
Part dequantized(Call& c, std::size_t x);
/// Numbers in the type of operand `x`, by the scale in operand `result` and the zero point behind it.
Part requantized(Call& c, const Part& numbers, std::size_t x, std::size_t result);
/// A zero point as f32; 0 if the operand is absent.
Part zero_point_of(Call& c, std::size_t zero_point);

/// A vector of zero points or scales, shaped to broadcast along axis `axis` of its operand, counted from the end.
Part along(Call& c, const Part& part, int axis);
/// An operand minus its zero point, in type `wide`; the operand itself if the zero point is 0.
Part centred(Call& c, std::size_t operand, std::size_t zero_point, DType wide, int axis);
/// Whether operands of a product have the zero points that quantized_matmul takes: one of the first, and one or a vector of the second.
bool are_plain_factors(Call& c, std::size_t x, std::size_t x_zero, std::size_t weight_zero);
/// A zero point, or a scalar 0 of the type of operand `of` if it is absent.
Part zero_or_none(Call& c, std::size_t zero_point, std::size_t of);
/// The exact product of two operands of integers minus their zero points, in i32.
Part integer_product(Call& c, std::size_t a, std::size_t a_zero_point, std::size_t b, std::size_t b_zero_point);

/// Dynamic quantization of f32: u8 steps with the scale and zero point that follow from the smallest and largest element. The range always
/// includes 0.
struct DynamicallyQuantized {
  Part steps, scale, zero_point;
};
DynamicallyQuantized dynamically_quantized(Call& c, const Part& x);

}  // namespace cleave::models::onnx
