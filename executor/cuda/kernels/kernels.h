// The rows of the CUDA kernel table, one function for each family of ops (graph/ops/op_table.h); kernel_table.cpp joins them. Only a
// family's own file knows the names of its ops.
#pragma once

#include <span>
#include <string_view>

#include "executor/cuda/kernel_source.h"

namespace cleave::runtime::cuda {

/// Writes the kernel of a request that the type rule and `takes` have accepted. For empty results the source has no launches.
using KernelBuilder = KernelSource (*)(const KernelRequest& request, const Architecture& architecture);

struct KernelRow {
  std::string_view op;
  KernelBuilder build = nullptr;
  bool (*takes)(const KernelRequest& request) = nullptr;  ///< null: all requests that the op's type rule accepts
};

/// Builds element-wise ops, including selection. They have scalar expressions; all other ops have rows.
KernelSource build_elementwise(const KernelRequest& request, const Architecture& architecture);

struct KernelFamily {
  std::string_view name;
  std::span<const KernelRow> (*rows)();
};
std::span<const KernelFamily> kernel_families();

std::span<const KernelRow> attention_kernels();
std::span<const KernelRow> cell_kernels();
std::span<const KernelRow> convolution_kernels();
std::span<const KernelRow> creation_kernels();
std::span<const KernelRow> indexing_kernels();
std::span<const KernelRow> joining_kernels();
std::span<const KernelRow> matmul_kernels();
std::span<const KernelRow> pooling_kernels();
std::span<const KernelRow> random_kernels();
std::span<const KernelRow> reduction_kernels();
std::span<const KernelRow> scan_kernels();
std::span<const KernelRow> scatter_kernels();
std::span<const KernelRow> search_kernels();
std::span<const KernelRow> shape_kernels();
std::span<const KernelRow> softmax_kernels();
std::span<const KernelRow> sorting_kernels();
std::span<const KernelRow> transfer_kernels();
std::span<const KernelRow> vision_kernels();
std::span<const KernelRow> window_kernels();
/// True if `reduction_kernels` has the op. Element-wise steps can then be fused in front of it.
bool reduces(const OpDef& op);

}  // namespace cleave::runtime::cuda
