// The kernels of linear algebra (linear_algebra.cpp) and of Fourier transforms (fourier.cpp), for the host's table.
#pragma once

#include "executor/host/kernels.h"

namespace cleave::runtime::host {

std::span<const KernelRow> fourier_kernels();
std::span<const KernelRow> linear_algebra_kernels();

}  // namespace cleave::runtime::host
