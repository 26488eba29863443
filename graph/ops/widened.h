// The type in which composite functions compute with narrow floating-point numbers.
#pragma once

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// f32 for f16 and bf16, whose squares and sums overflow or lose digits long before the result does; other types stay.
inline DType widened(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

}  // namespace cleave::ops
