// The rows of the CUDA kernel table, one function a family (kernel_table.cpp joins them). A family's file knows its ops' names; nobody
// else does.
#pragma once

#include <span>
#include <string_view>

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// Writes the kernel of a request that the type rule and `takes` have accepted. Of empty results: a source without launches.
using KernelBuilder = KernelSource (*)(const KernelRequest& request, const Architecture& architecture);

struct KernelRow {
  std::string_view op;
  KernelBuilder build = nullptr;
  bool (*takes)(const KernelRequest& request) = nullptr;  ///< null: whatever the op's type rule takes
};

KernelSource build_elementwise(const KernelRequest& request, const Architecture& architecture);
std::span<const KernelRow> creation_kernels();
std::span<const KernelRow> joining_kernels();
std::span<const KernelRow> movement_kernels();
std::span<const KernelRow> picking_kernels();
std::span<const KernelRow> product_kernels();
std::span<const KernelRow> random_kernels();
std::span<const KernelRow> reduction_kernels();
std::span<const KernelRow> scan_kernels();
std::span<const KernelRow> softmax_kernels();
/// Whether `reduction_kernels` has the op: it may have element-wise steps in front of it.
bool reduces(const OpDef& op);

}  // namespace cleave::runtime::cuda
