// Several element-wise operations as one pass over memory.
#pragma once

#include <memory>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// Whether all steps are element-wise, on one shape.
bool fuses_elementwise(const KernelRequest& request);
/// The kernel of such steps.
std::unique_ptr<HostKernel> prepare_fused(const KernelRequest& request);

}  // namespace cleave::runtime::host
