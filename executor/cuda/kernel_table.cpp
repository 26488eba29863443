// The table of CUDA kernels, one row for each op. An op without a row runs on the host only, unless has_matmul() or a library takes it.
#include <algorithm>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::size_t kMostParameters = 128;  ///< operands that fit into the parameters of a kernel beside its constants

constexpr KernelRow kElementwise{"", build_elementwise};

const KernelRow* find_row(const OpDef& op) {
  if (op.elementwise()) return &kElementwise;
  for (const KernelFamily& family : kernel_families()) {
    for (const KernelRow& row : family.rows()) {
      if (row.op == op.name) return &row;
    }
  }
  return nullptr;
}

}  // namespace

std::span<const KernelFamily> kernel_families() {
  static constexpr KernelFamily families[] = {
      {"attention", attention_kernels}, {"cells", cell_kernels},        {"convolution", convolution_kernels},
      {"creation", creation_kernels},   {"indexing", indexing_kernels}, {"joining", joining_kernels},
      {"matmul", matmul_kernels},       {"pooling", pooling_kernels},   {"random", random_kernels},
      {"reduction", reduction_kernels}, {"scan", scan_kernels},         {"scatter", scatter_kernels},
      {"search", search_kernels},       {"shape", shape_kernels},       {"softmax", softmax_kernels},
      {"sorting", sorting_kernels},     {"transfer", transfer_kernels}, {"vision", vision_kernels},
      {"windows", window_kernels}};
  return families;
}

bool has_kernel(const KernelRequest& request) {
  if (has_matmul(request)) return false;  // cuBLASLt computes it, with everything fused into it
  const KernelRow* row = find_row(*request.op);
  return row && request.input_types.size() + request.result_types.size() <= kMostParameters && (!row->takes || row->takes(request));
}

std::optional<KernelSource> kernel_source(const KernelRequest& request, const Architecture& architecture) {
  if (!has_kernel(request)) return std::nullopt;
  return find_row(*request.op)->build(request, architecture);
}

}  // namespace cleave::runtime::cuda
