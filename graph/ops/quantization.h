// Quantization to small integers as ONNX defines it: composite functions, traced into arithmetic and conversions.
#pragma once

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

}  // namespace cleave
