// concat: a copy a run of each operand.
#include <cstring>

#include "executor/host/kernels.h"

namespace cleave::runtime::host {
namespace {

/// Runs of whatever lies behind the axis, operand by operand.
Status concat_kernel(const KernelCall& call) {
  const TensorType& result = *call.results[0].type;
  std::int64_t axis = call.attributes.get_or<std::int64_t>("axis", 0);
  if (axis < 0) axis += result.rank();
  std::int64_t before = 1, behind = size_of(result.dtype);
  for (std::int64_t i = 0; i < result.rank(); ++i) {
    if (i < axis) before *= result.shape[static_cast<std::size_t>(i)];
    if (i > axis) behind *= result.shape[static_cast<std::size_t>(i)];
  }
  std::byte* out = call.results[0].data;
  for (std::int64_t b = 0; b < before; ++b) {
    for (const TensorView& input : call.inputs) {
      const std::int64_t run = input.type->shape[static_cast<std::size_t>(axis)] * behind;
      if (run > 0) std::memcpy(out, input.data + b * run, static_cast<std::size_t>(run));
      out += run;
    }
  }
  return {};
}

}  // namespace

std::span<const KernelRow> joining_kernels() {
  static constexpr KernelRow rows[] = {{"concat", concat_kernel}};
  return rows;
}

}  // namespace cleave::runtime::host
