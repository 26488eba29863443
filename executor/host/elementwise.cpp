// Element-wise kernels: the scalar meanings of graph/ops/scalars.h in loops whose steps the compiler knows, so that it can vectorise them.
#include "graph/ops/elementwise.h"
#include "executor/host/kernels.h"
#include "executor/host/rows.h"

namespace cleave::runtime::host {
namespace {

using ops::Domain;

/// One run with steps known when compiled: 0 or 1 element.
template <class Op, class T, bool predicate, int step_a, int step_b>
void known_loop(const std::byte* const* operands, std::byte* results, std::int64_t count) {
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  const auto* b = reinterpret_cast<const T*>(operands[1]);
  using Out = std::conditional_t<predicate, bool, T>;
  using C = ops::Compute<T>;
  auto* out = reinterpret_cast<Out*>(results);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = Op::template apply<C>(ops::load(a[step_a * i]), ops::load(b[step_b * i]));
    if constexpr (predicate) {
      out[i] = static_cast<bool>(value);
    } else {
      out[i] = ops::store<T>(static_cast<C>(value));
    }
  }
}

template <class Op, class T, bool predicate>
void row_loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  if constexpr (std::is_arithmetic_v<T> && Op::arity == 1) {
    if (steps[0] == 1) return known_loop<Op, T, predicate, 1, 1>(operands, results, count);
  }
  if constexpr (std::is_arithmetic_v<T> && Op::arity == 2) {
    if (steps[0] == 1 && steps[1] == 1) return known_loop<Op, T, predicate, 1, 1>(operands, results, count);
    if (steps[0] == 1 && steps[1] == 0) return known_loop<Op, T, predicate, 1, 0>(operands, results, count);
    if (steps[0] == 0 && steps[1] == 1) return known_loop<Op, T, predicate, 0, 1>(operands, results, count);
  }
  ops::element_loop<Op, T, predicate>(operands, steps, results, count);
}

template <class Op, Domain domain, bool predicate>
Status kernel(const KernelCall& call) {
  dispatch(call.inputs[0].type->dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr bool is_float = !std::is_integral_v<T>;
    constexpr bool is_bool = std::is_same_v<T, bool>;
    constexpr bool fits = domain == Domain::any || (domain == Domain::numeric && !is_bool) || (domain == Domain::floating && is_float) ||
                          (domain == Domain::boolean && is_bool) || (domain == Domain::bits && !is_float);
    if constexpr (fits) run_rows(call, row_loop<Op, T, predicate>);
  });
  return {};
}

template <class Op, Domain domain, bool predicate = false>
constexpr KernelRow row() {
  return {Op::name, kernel<Op, domain, predicate>};
}

}  // namespace

std::span<const KernelRow> elementwise_kernels() {
  using namespace scalars;
  using enum Domain;
  // The transcendental functions run their meaning's loop: what they cost is the function itself.
  static constexpr KernelRow rows[] = {
      row<Add, numeric>(),         row<Subtract, numeric>(),    row<Multiply, numeric>(),   row<Divide, floating>(),
      row<FloorDivide, numeric>(), row<Remainder, numeric>(),   row<Negative, numeric>(),   row<Abs, numeric>(),
      row<Minimum, numeric>(),     row<Maximum, numeric>(),     row<Square, numeric>(),     row<Exp, floating>(),
      row<Log, floating>(),        row<Sqrt, floating>(),       row<Tanh, floating>(),      row<Sigmoid, floating>(),
      row<Relu, numeric>(),        row<Gelu, floating>(),       row<Equal, any, true>(),    row<NotEqual, any, true>(),
      row<Less, any, true>(),      row<LessEqual, any, true>(), row<Greater, any, true>(),  row<GreaterEqual, any, true>(),
      row<LogicalAnd, boolean>(),  row<LogicalOr, boolean>(),   row<LogicalNot, boolean>(),
  };
  return rows;
}

}  // namespace cleave::runtime::host
