// The host's kernel of matrix products: what of a request is one, and the kernel for it.
#pragma once

#include <memory>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// A product with its transposed operands, or with a bias and relu behind it, of types that have code here.
bool has_matmul(const KernelRequest& request);
/// Null: the request is something else.
std::unique_ptr<HostKernel> prepare_matmul(const KernelRequest& request);

}  // namespace cleave::runtime::host
