// `where` and `astype`.
#include "executor/host/kernels.h"
#include "executor/host/rows.h"
#include "graph/ops/convert.h"

namespace cleave::runtime::host {
namespace {

template <class T>
void where_loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* condition = reinterpret_cast<const bool*>(operands[0]);
  const auto* yes = reinterpret_cast<const T*>(operands[1]);
  const auto* no = reinterpret_cast<const T*>(operands[2]);
  auto* out = reinterpret_cast<T*>(results);
  for (std::int64_t i = 0; i < count; ++i) out[i] = condition[i * steps[0]] ? yes[i * steps[1]] : no[i * steps[2]];
}

Status where_kernel(const KernelCall& call) {
  switch (size_of(call.results[0].type->dtype)) {  // it only moves bits
    case 1: run_rows(call, where_loop<std::uint8_t>); break;
    case 2: run_rows(call, where_loop<std::uint16_t>); break;
    case 4: run_rows(call, where_loop<std::uint32_t>); break;
    default: run_rows(call, where_loop<std::uint64_t>);
  }
  return {};
}

Status astype_kernel(const KernelCall& call) {
  const std::int64_t count = call.inputs[0].type->elements();
  dispatch(call.inputs[0].type->dtype, [&](auto from) {
    dispatch(call.results[0].type->dtype, [&](auto to) {
      const auto* source = call.inputs[0].as<decltype(from)>();
      auto* target = call.results[0].as<decltype(to)>();
      for (std::int64_t i = 0; i < count; ++i) target[i] = ops::convert<decltype(to)>(source[i]);
    });
  });
  return {};
}

}  // namespace

std::span<const KernelRow> selection_kernels() {
  static constexpr KernelRow rows[] = {{"where", where_kernel}, {"astype", astype_kernel}};
  return rows;
}

}  // namespace cleave::runtime::host
