// to_host and to_accelerator on the accelerator: copies, where the memory plan does not have the result lie where the operand lies. What
// moves between sides are sends and receives of the program.
#include "executor/cuda/kernels/moved.h"

namespace cleave::runtime::cuda {

std::span<const KernelRow> transfer_kernels() {
  static constexpr KernelRow rows[] = {{"to_accelerator", build_moved<same_order>}, {"to_host", build_moved<same_order>}};
  return rows;
}

}  // namespace cleave::runtime::cuda
