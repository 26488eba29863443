// Element-wise kernels, one for each line of graph/ops/elementwise.def: the loop for the machine's instruction set (simd/), or else the
// scalar reference in a portable loop.
#include "graph/ops/elementwise.h"

#include <cstring>

#include "executor/host/independent.h"
#include "executor/host/kernels.h"
#include "executor/host/rows.h"
#include "executor/host/simd/loops.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::host {
namespace {

#include "executor/host/plain_loops-inl.h"

/// If the function costs more than addressing its operands, a single loop for all steps is enough.
template <class Op, class T>
constexpr RowLoop best_loop() {
  constexpr bool costs_itself = Op::work == scalars::Work::math || Op::work == scalars::Work::root;
  return std::is_arithmetic_v<T> && !costs_itself ? plain_loop<Op, T> : ops::element_loop<Op, T>;
}

template <class Op>
RowLoop loop_on(DType operand) {
  RowLoop found = nullptr;
  ops::dispatch_in<Op::domain>(operand, [&](auto zero) { found = best_loop<Op, decltype(zero)>(); });
  return found;
}

struct LoopRow {
  std::string_view op;
  RowLoop (*on)(DType operand);
};

constexpr LoopRow kLoops[] = {
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(family, Struct, name, ...) {#name, loop_on<scalars::Struct>},
#include "graph/ops/elementwise.def"
};

Status kernel(const KernelCall& call) {
  run_rows(call, row_loop(call.op, call.inputs[0].type->dtype));
  return {};
}

template <std::size_t size>
void copy(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  if (steps[0] == 1) {
    std::memmove(results, operands[0], static_cast<std::size_t>(count) * size);
    return;
  }
  const std::int64_t apart = steps[0] * static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(results + i * static_cast<std::int64_t>(size), operands[0] + i * apart, size);
}

/// Copies bits; used for the copy steps that a group adds (moved_group.h).
RowLoop copy_loop(DType of) {
  switch (size_of(of)) {
    case 1: return copy<1>;
    case 2: return copy<2>;
    case 4: return copy<4>;
    default: return copy<8>;
  }
}

}  // namespace

RowLoop row_loop(const OpDef& op, DType operand) {
  if (!levels().empty()) {
    if (const RowLoop fast = simd_loop(levels().front(), op.name, operand)) return fast;
  }
  for (const LoopRow& row : kLoops) {
    if (row.op == op.name) return row.on(operand);
  }
  return &op == &op::where ? where_loop(operand) : nullptr;
}

RowLoop loop_for(const OpDef& op, std::span<const TensorType> operands, const TensorType& result) {
  if (op.name == "copy") return copy_loop(result.dtype);
  if (&op == &op::astype) return convert_loop(operands[0].dtype, result.dtype);
  return row_loop(op, operands[static_cast<std::size_t>(op.promote_from)].dtype);
}

RowLoop loop_past_cache_for(const OpDef& op, DType operand) {
  return levels().empty() ? nullptr : math_loop_past_cache(levels().front(), op.name, operand);
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(family, Struct, name, ...) constexpr KernelRow rows::name{kernel};
#include "graph/ops/elementwise.def"

}  // namespace cleave::runtime::host
