// Fused kernels of element-wise operations and row reductions, as one pass over memory: layer norm, softmax by hand, sums of products.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"

namespace cleave::runtime::host {

/// Whether there is a kernel for these steps: they run row by row, and either a row fits into the caches or the results of its reductions
/// are used for per-row values only.
bool fuses_rows(const KernelRequest& request);
/// The kernel of steps for which `fuses_rows` holds.
std::unique_ptr<HostKernel> prepare_row_group(const MovedGroup& group);

}  // namespace cleave::runtime::host
