// to_host and to_accelerator on the accelerator: local copies, unless the memory plan gives result and operand the same storage. The
// transfer itself is done by the program's sends and receives.
#include "executor/cuda/kernels/moved.h"

namespace cleave::runtime::cuda {

constexpr KernelRow rows::to_accelerator{build_moved<cuda::same_order>};
constexpr KernelRow rows::to_host{build_moved<cuda::same_order>};

}  // namespace cleave::runtime::cuda
