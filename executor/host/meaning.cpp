// The kernel of last resort: the op's meaning on the call's memory; and the guard between kernels and what user functions throw.
#include <cstring>

#include "executor/device/kernel.h"
#include "graph/base/exceptions.h"

namespace cleave::runtime {

Status run_meaning(const KernelCall& call) {
  std::vector<Array> inputs, results;
  inputs.reserve(call.inputs.size());
  results.reserve(call.results.size());
  for (const TensorView& input : call.inputs) inputs.push_back(Array::borrow(*input.type, input.data));
  for (const TensorView& result : call.results) {
    Result<Array> array = Array::allocate(*result.type);
    if (!array) return array.error();
    results.push_back(std::move(*array));
  }
  Status status = call.op.meaning({call.attributes, inputs, results, call.context});
  if (!status) return status;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorView& view = call.results[i];
    if (results[i].type() != *view.type) return Error{"gave " + to_string(results[i].type()) + " instead of " + to_string(*view.type)};
    if (view.type->bytes() > 0) std::memcpy(view.data, results[i].bytes(), static_cast<std::size_t>(view.type->bytes()));
  }
  return {};
}

Status run_guarded(Kernel kernel, const KernelCall& call) {
  return detail::guard_user("the called function", [&] { return kernel(call); });
}

Status run_guarded(HostKernel& kernel, const KernelCall& call) {
  return detail::guard_user("the called function", [&] { return kernel.run(call); });
}

}  // namespace cleave::runtime
