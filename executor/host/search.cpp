// searchsorted: binary search without data-dependent branches.
#include "executor/host/kernels.h"
#include "graph/ops/wrapping.h"

namespace cleave::runtime::host {
namespace {

constexpr std::int64_t kPiece = 1 << 12;

template <bool right, class T>
std::int32_t find(const T* sorted, std::int64_t extent, T element) {
  const auto value = ops::load(element);
  const T* from = sorted;
  while (extent > 0) {
    const std::int64_t half = extent / 2;
    const auto middle = ops::load(from[half]);
    const bool behind =
        right ? !(value < middle || (value == value && middle != middle)) : middle < value || (middle == middle && value != value);
    from = behind ? from + half + 1 : from;
    extent = behind ? extent - half - 1 : half;
  }
  return static_cast<std::int32_t>(from - sorted);
}

Status search_kernel(const KernelCall& call) {
  const bool right = call.attributes.get_or<std::string>("side", "left") == "right";
  const std::int64_t extent = call.inputs[0].type->shape[0];
  auto* out = call.results[0].as<std::int32_t>();
  dispatch(call.inputs[0].type->dtype, [&](auto zero) {
    using T = decltype(zero);
    const T *sorted = call.inputs[0].as<T>(), *values = call.inputs[1].as<T>();
    call.workers.each_part(call.inputs[1].type->elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        out[i] = right ? find<true>(sorted, extent, values[i]) : find<false>(sorted, extent, values[i]);
    });
  });
  return {};
}

}  // namespace

constexpr KernelRow rows::searchsorted{search_kernel};

}  // namespace cleave::runtime::host
