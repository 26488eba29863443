// The rows of the host's kernel table, one function for each family of ops (graph/ops/op_table.h); kernel_table.cpp joins them. Only a
// family's file knows the names of its ops.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "executor/device/kernel.h"

namespace cleave::runtime::host {

struct KernelRow {
  std::string_view op;
  Kernel kernel;
  std::unique_ptr<HostKernel> (*prepare)(const KernelRequest& request) = nullptr;  ///< null unless the kernel keeps state between calls
};

struct KernelFamily {
  std::string_view name;
  std::span<const KernelRow> (*rows)();
};
std::span<const KernelFamily> kernel_families();

std::span<const KernelRow> attention_kernels();
std::span<const KernelRow> cell_kernels();
std::span<const KernelRow> convolution_kernels();
std::span<const KernelRow> creation_kernels();
std::span<const KernelRow> elementwise_kernels();
std::span<const KernelRow> fourier_kernels();
std::span<const KernelRow> indexing_kernels();
std::span<const KernelRow> joining_kernels();
std::span<const KernelRow> linear_algebra_kernels();
std::span<const KernelRow> matmul_kernels();
std::span<const KernelRow> pooling_kernels();
std::span<const KernelRow> random_kernels();
std::span<const KernelRow> reduction_kernels();
std::span<const KernelRow> scan_kernels();
std::span<const KernelRow> scatter_kernels();
std::span<const KernelRow> search_kernels();
std::span<const KernelRow> selection_kernels();
std::span<const KernelRow> shape_kernels();
std::span<const KernelRow> softmax_kernels();
std::span<const KernelRow> sorting_kernels();
std::span<const KernelRow> transfer_kernels();
std::span<const KernelRow> vision_kernels();
std::span<const KernelRow> window_kernels();

/// A HostKernel that calls `kernel` and prepares nothing.
std::unique_ptr<HostKernel> plain_kernel(Kernel kernel);
/// The kernel of ops whose result has the operand's elements in the same order.
Status copy_kernel(const KernelCall& call);

}  // namespace cleave::runtime::host
