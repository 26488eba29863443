// The families of array functions, linear algebra and transforms, for the one list (op_table.cpp).
#pragma once

#include "graph/ops/op_table.h"

namespace cleave::ops {

std::span<const OpDef> linear_algebra_ops();  ///< solve … svdvals
std::span<const OpDef> fourier_ops();         ///< fft … irfft

// Composite functions.
std::span<const OpDef> array_functions();  ///< tril … linspace
std::span<const OpDef> array_sums();       ///< diff … matrix_norm

}  // namespace cleave::ops
