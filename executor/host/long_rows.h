// Fused kernels of element-wise operations and reductions over rows too long for the caches, as one pass over memory: tile by tile. The
// partial results of a row's pieces are joined as in the kernel of a single reduction.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"
#include "executor/host/row_domain.h"

namespace cleave::runtime::host {

/// Whether no step over the whole shape depends on a value reduced from a whole row, and no step finds positions of extremes.
bool fuses_long_rows(const RowDomain& domain);
/// The kernel of steps for which `fuses_long_rows` holds.
std::unique_ptr<HostKernel> prepare_long_rows(const MovedGroup& group, RowDomain domain);

}  // namespace cleave::runtime::host
