// The fallback kernel: the op's reference implementation on the call's memory; and the guard that turns exceptions of user functions into
// an Error.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "executor/device/kernel.h"
#include "executor/host/kernels.h"
#include "graph/base/exceptions.h"
#include "graph/host_function.h"
#include "graph/ops/pending_calls.h"

namespace cleave::runtime {
namespace {

constexpr std::int64_t kZeroedAtOnce = 1 << 20;  ///< bytes of a result that one thread zeroes

bool overlap(const TensorView& a, const TensorView& b) {
  return std::less<>()(a.data, b.data + b.type->bytes()) && std::less<>()(b.data, a.data + a.type->bytes());
}

/// Whether the reference implementation may write directly to the result's memory: no input overlaps it, and the function keeps no
/// reference to it.
bool written_in_place(const KernelCall& call, const TensorView& result) {
  const auto* function = call.attributes.get_if<std::shared_ptr<const HostFunction>>("function");
  if (function && !(*function)->fills_in_place) return false;
  return std::none_of(call.inputs.begin(), call.inputs.end(), [&](const TensorView& input) { return overlap(input, result); });
}

/// The array that the reference implementation fills for a result: zeros of its type.
Result<Array> zeros(const KernelCall& call, const TensorView& result) {
  const auto bytes = static_cast<std::size_t>(result.type->bytes());
  if (bytes == 0 || !written_in_place(call, result)) return Array::allocate(*result.type);
  call.workers.each_part(result.type->bytes(), kZeroedAtOnce, [&](std::int64_t begin, std::int64_t end) {
    std::memset(result.data + begin, 0, static_cast<std::size_t>(end - begin));
  });
  return Array::own(*result.type, result.data, nullptr);
}

std::vector<Array> inputs_of(const KernelCall& call) {
  std::vector<Array> inputs;
  inputs.reserve(call.inputs.size());
  for (const TensorView& input : call.inputs) inputs.push_back(Array::borrow(*input.type, input.data));
  return inputs;
}

Result<std::vector<Array>> results_of(const KernelCall& call) {
  std::vector<Array> results;
  results.reserve(call.results.size());
  for (const TensorView& result : call.results) {
    Result<Array> array = zeros(call, result);
    if (!array) return array.error();
    results.push_back(std::move(*array));
  }
  return results;
}

/// Copies results to the call's memory unless they are already there.
Status give(const std::vector<Array>& results, const KernelCall& call) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorView& view = call.results[i];
    if (results[i].type() != *view.type) return Error{"gave " + to_string(results[i].type()) + " instead of " + to_string(*view.type)};
    if (view.type->bytes() == 0 || results[i].bytes() == view.data) continue;
    std::memcpy(view.data, results[i].bytes(), static_cast<std::size_t>(view.type->bytes()));
  }
  return {};
}

}  // namespace

Status run_reference(const KernelCall& call) {
  const std::vector<Array> inputs = inputs_of(call);
  Result<std::vector<Array>> results = results_of(call);
  if (!results) return results.error();
  Status status = call.op.reference({call.attributes, inputs, *results, call.context});
  return status ? give(*results, call) : status;
}

Result<BegunCall> begin_call(const KernelCall& call) {
  BegunCall begun;
  const Status status = detail::guard_user("the called function", [&]() -> Status {
    const std::vector<Array> inputs = inputs_of(call);
    Result<std::vector<Array>> results = results_of(call);
    if (!results) return results.error();
    begun.results = *std::move(results);
    Result<std::unique_ptr<PendingCall>> pending = ops::begin_host_call({call.attributes, inputs, begun.results, call.context});
    if (!pending) return pending.error();
    begun.pending = *std::move(pending);
    return {};
  });
  if (!status) return status.error();
  return begun;
}

Status end_call(BegunCall& begun, const KernelCall& call) {
  return detail::guard_user("the called function", [&]() -> Status {
    const Status status = ops::end_host_call(*begun.pending, {call.attributes, {}, begun.results, call.context});
    return status ? give(begun.results, call) : status;
  });
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

// Effects, and calls of the user's functions.
constexpr host::KernelRow host::rows::print = kReferenceOnly;
constexpr host::KernelRow host::rows::log_metric = kReferenceOnly;
constexpr host::KernelRow host::rows::write_npy = kReferenceOnly;
constexpr host::KernelRow host::rows::host_call = kReferenceOnly;

}  // namespace cleave::runtime
