// The CUDA kernels, by op: one table row an op. What has no row is host-only (has_matmul aside).
#include <algorithm>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kMostOperands = 128;  ///< what fits into the parameters of a kernel, constants aside

constexpr KernelRow kElementwise{"", build_elementwise};

const KernelRow* find_row(const OpDef& op) {
  if (op.elementwise()) return &kElementwise;
  for (const auto family : {creation_kernels, joining_kernels, movement_kernels, picking_kernels, product_kernels, random_kernels,
                            reduction_kernels, scan_kernels, softmax_kernels}) {
    for (const KernelRow& row : family()) {
      if (row.op == op.name) return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool has_kernel(const KernelRequest& request) {
  if (has_matmul(request)) return false;  // cuBLASLt's, with all that is done around it
  const KernelRow* row = find_row(*request.op);
  return row && request.input_types.size() + request.result_types.size() <= kMostOperands && (!row->takes || row->takes(request));
}

std::optional<KernelSource> kernel_source(const KernelRequest& request, const Architecture& architecture) {
  if (!has_kernel(request)) return std::nullopt;
  return find_row(*request.op)->build(request, architecture);
}

}  // namespace cleave::runtime::cuda
