// Element-wise operations and reductions of rows as one pass over memory: layer norm, softmax by hand, sums of products.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"

namespace cleave::runtime::host {

/// Whether there is a kernel for these steps: they run row by row, and a row fits into the caches, or else nothing but values a row is made
/// of what its reductions give.
bool fuses_rows(const KernelRequest& request);
/// The kernel of such steps.
std::unique_ptr<HostKernel> prepare_row_group(const MovedGroup& group);

}  // namespace cleave::runtime::host
