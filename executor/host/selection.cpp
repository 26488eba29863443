// `where` and `astype`.
#include "executor/host/kernels.h"
#include "executor/host/rows.h"
#include "graph/ops/convert.h"

namespace cleave::runtime::host {
namespace {

/// It only moves bits.
template <class T>
void choose(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* condition = reinterpret_cast<const bool*>(operands[0]);
  const auto* yes = reinterpret_cast<const T*>(operands[1]);
  const auto* no = reinterpret_cast<const T*>(operands[2]);
  auto* out = reinterpret_cast<T*>(results);
  for (std::int64_t i = 0; i < count; ++i) out[i] = condition[i * steps[0]] ? yes[i * steps[1]] : no[i * steps[2]];
}

template <class From, class To>
void convert(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* source = reinterpret_cast<const From*>(operands[0]);
  auto* target = reinterpret_cast<To*>(results);
  if (steps[0] == 1) {
    for (std::int64_t i = 0; i < count; ++i) target[i] = ops::convert<To>(source[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) target[i] = ops::convert<To>(source[i * steps[0]]);
  }
}

Status where_kernel(const KernelCall& call) {
  run_rows(call, where_loop(call.results[0].type->dtype));
  return {};
}

Status astype_kernel(const KernelCall& call) {
  run_rows(call, convert_loop(call.inputs[0].type->dtype, call.results[0].type->dtype));
  return {};
}

}  // namespace

RowLoop where_loop(DType choice) {
  switch (size_of(choice)) {
    case 1: return choose<std::uint8_t>;
    case 2: return choose<std::uint16_t>;
    case 4: return choose<std::uint32_t>;
    default: return choose<std::uint64_t>;
  }
}

RowLoop convert_loop(DType from, DType to) {
  return dispatch(
      from, [&](auto source) { return dispatch(to, [&](auto target) -> RowLoop { return convert<decltype(source), decltype(target)>; }); });
}

std::span<const KernelRow> selection_kernels() {
  static constexpr KernelRow rows[] = {{"where", where_kernel}, {"astype", astype_kernel}};
  return rows;
}

}  // namespace cleave::runtime::host
