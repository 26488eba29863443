#include "executor/cuda/kernel_source.h"

namespace cleave::cuda {

bool has_kernel(const KernelRequest&) {
  return false;
}

std::optional<KernelSource> kernel_source(const KernelRequest&, const Architecture&) {
  return std::nullopt;
}

}  // namespace cleave::cuda
