// The kernel of our own for a matrix product of any type, with what is done around it in the same go: for those that cuBLASLt does not
// have, and for those that it turns out to have no algorithm for.
#pragma once

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// `request`: one that `find_matmul` finds a product in; of floating types with any epilogue that it finds.
KernelSource product_source(const KernelRequest& request, const Architecture& architecture);

}  // namespace cleave::runtime::cuda
