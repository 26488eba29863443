// to_host and to_accelerator on the accelerator: local copies, unless the memory plan gives result and operand the same storage. The
// transfer itself is done by the program's sends and receives.
#include "executor/cuda/kernels/moved.h"

namespace cleave::runtime::cuda {

std::span<const KernelRow> transfer_kernels() {
  static constexpr KernelRow rows[] = {{"to_accelerator", build_moved<same_order>}, {"to_host", build_moved<same_order>}};
  return rows;
}

}  // namespace cleave::runtime::cuda
