// The rows of the host's kernel table, one function a family (kernel_table.cpp joins them). A family's file knows its ops' names; nobody
// else does.
#pragma once

#include <span>
#include <string_view>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

struct KernelRow {
  std::string_view op;
  Kernel kernel;
};

std::span<const KernelRow> elementwise_kernels();
std::span<const KernelRow> selection_kernels();
std::span<const KernelRow> matmul_kernels();
std::span<const KernelRow> reduction_kernels();
std::span<const KernelRow> movement_kernels();

}  // namespace cleave::runtime::host
