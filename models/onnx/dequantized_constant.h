// DequantizeLinear of constants while a file is read: the program holds the weights in floating point, and no run converts them again.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/array/array.h"
#include "graph/base/result.h"

namespace cleave::models::onnx {

/// The granularity of a scale: one for the tensor, one for each index of an axis, or one for each block of an axis.
struct Granularity {
  std::int64_t axis = 0;
  std::int64_t block = 0;  ///< 0: no blocks
};

/// `(x - zero_point) * scale` in the scale's type, as the operation `dequantize` computes it. Scale and zero point have one element, one
/// for each index of the axis, or the shape of `x` with its axis divided into blocks. An Error (machine) if memory is exhausted.
Result<Array> dequantized(const Array& x, const Array& scale, const std::optional<Array>& zero_point, const Granularity& by);

}  // namespace cleave::models::onnx
