// Several element-wise operations as one pass over memory.
#pragma once

#include <memory>

#include "executor/device/kernel.h"
#include "executor/host/moved_group.h"

namespace cleave::runtime::host {

/// Whether all steps are element-wise, on elements in one order.
bool fuses_elementwise(const KernelRequest& request);
/// The kernel of such steps.
std::unique_ptr<HostKernel> prepare_fused(const MovedGroup& group);
/// Of one element-wise operation whose results go past the caches, which such groups know how to do.
std::unique_ptr<HostKernel> prepare_past_cache(const KernelRequest& request);

}  // namespace cleave::runtime::host
