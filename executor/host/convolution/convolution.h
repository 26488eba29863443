// The host's convolution kernels: which requests are convolutions, and the kernel for them.
#pragma once

#include <memory>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// Whether the request is a convolution of f32 or f64 followed by element-wise steps.
bool fuses_convolution(const KernelRequest& request);
/// The kernel, or null if the request is not a convolution.
std::unique_ptr<HostKernel> prepare_fused_convolution(const KernelRequest& request);

}  // namespace cleave::runtime::host
