// Products of quantized numbers: the parameters of a call of `quantized_matmul` or `quantized_conv`, derived from its types, for the
// reference implementations and the kernels. A convolution's windows are those of `conv` (convolution.h).
#pragma once

#include "graph/ops/strided.h"
#include "graph/ops/window.h"

namespace cleave::ops {

/// The operands of both operations by position. Those from the bias on may be left out, the last ones first.
inline constexpr std::size_t kQuantizedX = 0, kQuantizedWeight = 1, kQuantizedXZero = 2, kQuantizedWeightZero = 3, kQuantizedBias = 4,
                             kQuantizedFactor = 5, kQuantizedZero = 6;

/// Batches of matrix products: rows x inner and inner x columns.
struct QuantizedMatmul {
  Shape batch;
  std::int64_t rows = 1, inner = 1, columns = 1;
  Strides a_batch, b_batch;  ///< in elements, over `batch`
};
/// Requires a call that the type rule accepts.
QuantizedMatmul quantized_matmul_of(Types inputs);

}  // namespace cleave::ops
