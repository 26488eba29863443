// The kernel of last resort: the op's meaning on the call's memory; and the guard between kernels and what user functions throw.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "executor/device/kernel.h"
#include "graph/base/exceptions.h"
#include "graph/host_function.h"

namespace cleave::runtime {
namespace {

bool overlap(const TensorView& a, const TensorView& b) {
  return std::less<>()(a.data, b.data + b.type->bytes()) && std::less<>()(b.data, a.data + a.type->bytes());
}

/// Whether the meaning may write where the result is to be: it reads nothing there, and keeps nothing that lies there.
bool written_in_place(const KernelCall& call, const TensorView& result) {
  const auto* function = call.attributes.get_if<std::shared_ptr<const HostFunction>>("function");
  if (function && !(*function)->fills_in_place) return false;
  return std::none_of(call.inputs.begin(), call.inputs.end(), [&](const TensorView& input) { return overlap(input, result); });
}

/// What a meaning is given for a result: zeros of its type.
Result<Array> zeros(const KernelCall& call, const TensorView& result) {
  const auto bytes = static_cast<std::size_t>(result.type->bytes());
  if (bytes == 0 || !written_in_place(call, result)) return Array::allocate(*result.type);
  std::memset(result.data, 0, bytes);
  return Array::own(*result.type, result.data, nullptr);
}

}  // namespace

Status run_meaning(const KernelCall& call) {
  std::vector<Array> inputs, results;
  inputs.reserve(call.inputs.size());
  results.reserve(call.results.size());
  for (const TensorView& input : call.inputs) inputs.push_back(Array::borrow(*input.type, input.data));
  for (const TensorView& result : call.results) {
    Result<Array> array = zeros(call, result);
    if (!array) return array.error();
    results.push_back(std::move(*array));
  }
  Status status = call.op.meaning({call.attributes, inputs, results, call.context});
  if (!status) return status;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorView& view = call.results[i];
    if (results[i].type() != *view.type) return Error{"gave " + to_string(results[i].type()) + " instead of " + to_string(*view.type)};
    if (view.type->bytes() == 0 || results[i].bytes() == view.data) continue;
    std::memcpy(view.data, results[i].bytes(), static_cast<std::size_t>(view.type->bytes()));
  }
  return {};
}

Status run_guarded(Kernel kernel, const KernelCall& call) {
  return detail::guard_user("the called function", [&] { return kernel(call); });
}

Status run_guarded(HostKernel& kernel, const KernelCall& call) {
  return detail::guard_user("the called function", [&] { return kernel.run(call); });
}

Status run_guarded(HostKernel& kernel, const KernelCall& call, std::int64_t begin, std::int64_t end) {
  return detail::guard_user("the called function", [&] { return kernel.run_pieces(call, begin, end); });
}

}  // namespace cleave::runtime
