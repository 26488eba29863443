// The host's kernels, by op. What has no row runs its meaning.
#include "executor/host/kernels.h"

namespace cleave::runtime {

Kernel host_kernel(const OpDef& op) {
  using namespace host;
  for (const auto family : {elementwise_kernels, selection_kernels, matmul_kernels, reduction_kernels, movement_kernels}) {
    for (const KernelRow& row : family()) {
      if (row.op == op.name) return row.kernel;
    }
  }
  return run_meaning;
}

}  // namespace cleave::runtime
