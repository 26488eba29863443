// Loops that the compiler vectorises by itself, made from the scalar expressions of graph/ops/elementwise.def with steps that are
// compile-time constants, 0 or 1. Included inside a namespace, once for the instruction set of the whole program and once for each set of
// simd/, so it includes nothing: the including file has included <type_traits>, graph/ops/scalars.h, executor/host/independent.h and
// executor/host/rows.h.

// A result overlaps an operand only if both start at the same address, so iterations are independent.
template <class Op, class T, int step_a, int step_b, int step_c>
void known_loop(const std::byte* const* operands, std::byte* results, std::int64_t count) {
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  [[maybe_unused]] const auto* b = reinterpret_cast<const T*>(operands[1]);
  [[maybe_unused]] const auto* c = reinterpret_cast<const T*>(operands[2]);
  using Out = std::conditional_t<Op::predicate, bool, T>;
  using C = ops::Compute<T>;
  auto* out = reinterpret_cast<Out*>(results);
  CLEAVE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = [&] {
      if constexpr (Op::arity == 1) {
        return Op::template apply<C>(ops::load(a[step_a * i]));
      } else if constexpr (Op::arity == 2) {
        return Op::template apply<C>(ops::load(a[step_a * i]), ops::load(b[step_b * i]));
      } else {
        return Op::template apply<C>(ops::load(a[step_a * i]), ops::load(b[step_b * i]), ops::load(c[step_c * i]));
      }
    }();
    if constexpr (Op::predicate) {
      out[i] = static_cast<bool>(value);
    } else {
      out[i] = ops::store<T>(static_cast<C>(value));
    }
  }
}

/// Runs the loop specialized for these steps; false if there is none.
template <class Op, class T>
bool run_known_loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto is = [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    return steps[0] == a && (Op::arity < 2 || steps[1] == b) && (Op::arity < 3 || steps[2] == c);
  };
  if (is(1, 1, 1)) {
    known_loop<Op, T, 1, 1, 1>(operands, results, count);
    return true;
  }
  if constexpr (Op::arity == 2) {
    if (is(1, 0, 0)) {
      known_loop<Op, T, 1, 0, 0>(operands, results, count);
      return true;
    }
    if (is(0, 1, 0)) {
      known_loop<Op, T, 0, 1, 0>(operands, results, count);
      return true;
    }
  }
  if constexpr (Op::arity == 3) {
    if (is(1, 0, 0)) {
      known_loop<Op, T, 1, 0, 0>(operands, results, count);
      return true;
    }
  }
  return false;
}

/// Takes any steps; those without a specialized loop run element by element.
template <class Op, class T>
void plain_loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  if (!run_known_loop<Op, T>(operands, steps, results, count)) ops::element_loop<Op, T>(operands, steps, results, count);
}
