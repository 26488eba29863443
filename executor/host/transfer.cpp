// to_host and to_accelerator on the host: copies. Transfers between devices are sends and receives of the program instead.
#include <cstring>

#include "executor/host/kernels.h"
#include "executor/host/long_copy.h"

namespace cleave::runtime::host {

Status copy_kernel(const KernelCall& call) {
  if (call.results[0].data != call.inputs[0].data) copy_long(call.results[0].data, call.inputs[0].data, call.results[0].type->bytes());
  return {};
}

constexpr KernelRow rows::to_host{copy_kernel};
constexpr KernelRow rows::to_accelerator{copy_kernel};

}  // namespace cleave::runtime::host
