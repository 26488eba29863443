// Element-wise kernels, one of each line of graph/ops/elementwise.def: scalar meanings in loops whose steps the compiler knows, so that it
// can vectorise them.
#include "graph/ops/elementwise.h"
#include "executor/host/kernels.h"
#include "executor/host/rows.h"

namespace cleave::runtime::host {
namespace {

/// One run with steps known when compiled: 0 or 1 element.
template <class Op, class T, int step_a, int step_b>
void known_loop(const std::byte* const* operands, std::byte* results, std::int64_t count) {
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  const auto* b = reinterpret_cast<const T*>(operands[1]);
  using Out = std::conditional_t<Op::predicate, bool, T>;
  using C = ops::Compute<T>;
  auto* out = reinterpret_cast<Out*>(results);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = Op::template apply<C>(ops::load(a[step_a * i]), ops::load(b[step_b * i]));
    if constexpr (Op::predicate) {
      out[i] = static_cast<bool>(value);
    } else {
      out[i] = ops::store<T>(static_cast<C>(value));
    }
  }
}

/// Where the function itself costs more than the way to its operands, one loop for all steps will do.
template <class Op, class T>
void loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  constexpr bool worth = std::is_arithmetic_v<T> && Op::flops == 1;
  if constexpr (worth && Op::arity == 1) {
    if (steps[0] == 1) return known_loop<Op, T, 1, 1>(operands, results, count);
  }
  if constexpr (worth && Op::arity == 2) {
    if (steps[0] == 1 && steps[1] == 1) return known_loop<Op, T, 1, 1>(operands, results, count);
    if (steps[0] == 1 && steps[1] == 0) return known_loop<Op, T, 1, 0>(operands, results, count);
    if (steps[0] == 0 && steps[1] == 1) return known_loop<Op, T, 0, 1>(operands, results, count);
  }
  ops::element_loop<Op, T>(operands, steps, results, count);
}

template <class Op>
RowLoop loop_on(DType operand) {
  RowLoop found = nullptr;
  ops::dispatch_in<Op::domain>(operand, [&](auto zero) { found = loop<Op, decltype(zero)>; });
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

}  // namespace

RowLoop row_loop(const OpDef& op, DType operand) {
  for (const LoopRow& row : kLoops) {
    if (row.op == op.name) return row.on(operand);
  }
  return op.name == "where" ? where_loop(operand) : nullptr;
}

RowLoop loop_for(const OpDef& op, std::span<const TensorType> operands, const TensorType& result) {
  if (op.name == "astype") return convert_loop(operands[0].dtype, result.dtype);
  return row_loop(op, operands[static_cast<std::size_t>(op.promote_from)].dtype);
}

std::span<const KernelRow> elementwise_kernels() {
  static constexpr KernelRow rows[] = {
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(family, Struct, name, ...) {#name, kernel},
#include "graph/ops/elementwise.def"
  };
  return rows;
}

}  // namespace cleave::runtime::host
