// Quantization to small integers as ONNX defines it, traced into arithmetic and conversions; and products of quantized numbers, which
// integer kernels compute.
#pragma once

#include "graph/ops/neural.h"
#include "graph/ops/ops.h"

namespace cleave {

/// `axis`: the axis to which a `scale` of several elements applies.
struct QuantizeOptions {
  std::optional<Tensor> zero_point = {};  ///< has the type of the result and the shape of the scale; absent: 0
  int axis = 1;
  std::optional<DType> dtype = {};  ///< without a zero point: i8, u8, i16, u16 or i32; absent: u8
};
/// `round(x / scale) + zero_point`, halves to even, saturated to the integer type (ONNX QuantizeLinear). x: [..] floating; scale: a scalar,
/// or [n] with n the extent of `axis`. NaN gives 0. Errors: `type` where x is not floating or the zero point not of integers; `shape` where
/// the scale fits no axis.
///   Tensor q = quantize(x, 0.1F, {.dtype = DType::i8});
Tensor quantize(const Tensor& x, const Tensor& scale, const QuantizeOptions& options = {}, Here here = Here::now());

struct DequantizeOptions {
  std::optional<Tensor> zero_point = {};  ///< has the type of x and the shape of the scale; absent: 0
  int axis = 1;
};
/// `(x - zero_point) * scale`, of the scale's type (ONNX DequantizeLinear). x: integers of at most 32 bits.
Tensor dequantize(const Tensor& x, const Tensor& scale, const DequantizeOptions& options = {}, Here here = Here::now());

/// The operands that convert the exact i32 sums of a product of quantized numbers, in this order.
struct Requantize {
  std::optional<Tensor> bias = {};    ///< i32, added: a scalar, or [n] for the n columns or output channels
  std::optional<Tensor> factor = {};  ///< f32, likewise: the sums times it are the result, in f32
  std::optional<Tensor> zero = {};    ///< a scalar of i8 or u8: the result is rounded, halves to even, plus this, and saturated to its type
};
/// The matrix product of `x1 - x1_zero` and `x2 - x2_zero`, with exact sums of i32, which wrap (ONNX MatMulInteger, QLinearMatMul). x1:
/// [.., m, k] of i8 or u8; x2: [.., k, n], likewise; leading axes broadcast. x1_zero: a scalar of the type of x1; x2_zero: a scalar or [n],
/// of that of x2. Gives [.., m, n] of i32, f32 or the type of `zero`. Errors: `type` and `shape`, where operands do not fit.
///   Tensor y = quantized_matmul(x, weight, x_zero, weight_zero, {.bias = bias, .factor = x_scale * weight_scale / y_scale, .zero =
///   y_zero});
Tensor quantized_matmul(const Tensor& x1, const Tensor& x2, const Tensor& x1_zero, const Tensor& x2_zero, const Requantize& result = {},
                        Here here = Here::now());
/// The convolution of `x - x_zero` by `weight - weight_zero`, likewise (ONNX ConvInteger, QLinearConv). Shapes and options are those of
/// `conv`; padding adds nothing to a sum. weight_zero: a scalar, or one for each output channel.
Tensor quantized_conv(const Tensor& x, const Tensor& weight, const Tensor& x_zero, const Tensor& weight_zero, const Requantize& result = {},
                      const ConvOptions& options = {}, Here here = Here::now());

}  // namespace cleave
