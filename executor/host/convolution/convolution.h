// The host's kernel of convolutions: what of a request is one, and the kernel for it.
#pragma once

#include <memory>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

/// A convolution of f32 or f64 with element-wise steps behind it.
bool fuses_convolution(const KernelRequest& request);
/// Null: the request is something else.
std::unique_ptr<HostKernel> prepare_fused_convolution(const KernelRequest& request);

}  // namespace cleave::runtime::host
