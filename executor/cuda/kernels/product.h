// cleave's own kernel for a matrix product of any type, with its fused epilogue: for products that cuBLASLt does not support, and for those
// for which it turns out to have no algorithm.
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// `find_matmul` must find a product in `request`. With floating types, all epilogues that it finds are supported.
KernelSource product_source(const KernelRequest& request, const Architecture& architecture);

}  // namespace cleave::runtime::cuda
