// The kernels of operations at computed places (graph/ops/place_families.h), for the table of all.
#pragma once

#include "executor/host/kernels.h"

namespace cleave::runtime::host {

std::span<const KernelRow> scatter_kernels();
std::span<const KernelRow> window_kernels();

}  // namespace cleave::runtime::host
