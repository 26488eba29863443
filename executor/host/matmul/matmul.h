// The host's matrix product kernels: which requests are products, and the kernel for them.
#pragma once

#include <memory>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// Whether the request is a product, perhaps with transposed operands or followed by a bias and relu, of types with code here.
bool has_matmul(const KernelRequest& request);
/// The kernel, or null if the request is not such a product.
std::unique_ptr<HostKernel> prepare_matmul(const KernelRequest& request);

}  // namespace cleave::runtime::host
