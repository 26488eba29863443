// Element-wise operations and reductions of rows too long for the caches, as one pass over memory: tile by tile, and what a row's pieces
// give is joined as by the kernel of a single reduction.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"
#include "executor/host/row_domain.h"

namespace cleave::runtime::host {

/// Whether no step over the whole shape waits for what a step before has made of a whole row, and none finds places.
bool fuses_long_rows(const RowDomain& domain);
/// The kernel of such steps.
std::unique_ptr<HostKernel> prepare_long_rows(const MovedGroup& group, RowDomain domain);

}  // namespace cleave::runtime::host
