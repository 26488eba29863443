// `where` and `astype`.
#include "executor/host/independent.h"
#include "executor/host/kernels.h"
#include "executor/host/rows.h"
#include "executor/host/simd/loops.h"
#include "graph/ops/convert.h"

namespace cleave::runtime::host {
namespace {

#include "executor/host/selection-inl.h"

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
  if (!levels().empty()) {
    if (const RowLoop fast = choosing_loop(levels().front(), choice)) return fast;
  }
  switch (size_of(choice)) {
    case 1: return choose<std::uint8_t>;
    case 2: return choose<std::uint16_t>;
    case 4: return choose<std::uint32_t>;
    default: return choose<std::uint64_t>;
  }
}

RowLoop convert_loop(DType from, DType to) {
  if (!levels().empty()) {
    if (const RowLoop fast = converting_loop(levels().front(), from, to)) return fast;
  }
  return dispatch(
      from, [&](auto source) { return dispatch(to, [&](auto target) -> RowLoop { return convert<decltype(source), decltype(target)>; }); });
}

constexpr KernelRow rows::where{where_kernel};
constexpr KernelRow rows::astype{astype_kernel};

}  // namespace cleave::runtime::host
