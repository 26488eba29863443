// Scalar functions of the element-wise ops, from their lines in elementwise.def. Each expression becomes text, from which devices generate
// code, and a function `apply`, from which the reference implementation and host kernels are compiled.
#pragma once

#include <cmath>
#include <string_view>

#include "graph/op.h"
#include "graph/ops/domain.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {

/// Shifts for expressions, which must keep the count below the number of bits. The right shift is arithmetic.
template <class T>
Wrapping<T> operator<<(Wrapping<T> a, Wrapping<T> b) {
  using Bits = std::make_unsigned_t<T>;
  return static_cast<Bits>(static_cast<Bits>(a.value()) << static_cast<Bits>(b.value()));
}
template <class T>
Wrapping<T> operator>>(Wrapping<T> a, Wrapping<T> b) {
  return static_cast<T>(a.value() >> static_cast<std::make_unsigned_t<T>>(b.value()));
}

}  // namespace cleave::ops

namespace cleave::scalars {

struct PreludeFunction {
  std::string_view name, text;
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage): text and code from one expression need a macro.
/// A function that expressions may call, as code and as text.
#define CLEAVE_PRELUDE(function, ...) \
  __VA_ARGS__                         \
  inline constexpr PreludeFunction prelude_##function{#function, #__VA_ARGS__};

#define CLEAVE_PARAMETERS_1 "(x)"
#define CLEAVE_PARAMETERS_2 "(x1, x2)"
#define CLEAVE_PARAMETERS_3 "(x, min, max)"  // `clip`
/// A line of elementwise.def as a type: the op's properties, and its expression over a, b, c of type T as text and as code.
#define CLEAVE_OP_SPLIT(family, Struct, op, operands, takes, meet, result, costs, about, expression, on_integers) \
  struct Struct {                                                                                                 \
    static constexpr const char* name = #op;                                                                      \
    static constexpr const char* signature = #op CLEAVE_PARAMETERS_##operands;                                    \
    static constexpr int arity = operands;                                                                        \
    static constexpr ops::Domain domain = ops::Domain::takes;                                                     \
    static constexpr Promotion promotion = Promotion::meet;                                                       \
    static constexpr bool predicate = Result::result == Result::truth;                                            \
    static constexpr Work work = Work::costs;                                                                     \
    static constexpr const char* summary = about;                                                                 \
    static constexpr const char* text = #expression;                                                              \
    static constexpr const char* integer_text = #on_integers;                                                     \
    template <class T>                                                                                            \
    static auto apply([[maybe_unused]] T a, [[maybe_unused]] T b = T(), [[maybe_unused]] T c = T()) {             \
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bool>) {                                     \
        return expression;                                                                                        \
      } else {                                                                                                    \
        return on_integers;                                                                                       \
      }                                                                                                           \
    }                                                                                                             \
  };
#define CLEAVE_OP(family, Struct, op, operands, takes, meet, result, costs, about, expression) \
  CLEAVE_OP_SPLIT(family, Struct, op, operands, takes, meet, result, costs, about, expression, expression)
// NOLINTEND(cppcoreguidelines-macro-usage)

using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::ceil, std::copysign, std::cos, std::cosh,
    std::erf, std::exp, std::expm1, std::fabs, std::floor, std::fmod, std::hypot, std::log, std::log10, std::log1p, std::log2, std::pow,
    std::rint, std::sin, std::sinh, std::sqrt, std::tan, std::tanh, std::trunc;

// Functions that expressions may call beside the C math library.
// clang-format off

// A negative exponent rounds towards zero, like a division.
CLEAVE_PRELUDE(integer_power,
template <class T> T integer_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? (T)1 : base == -1 ? (exponent % 2 == 0 ? (T)1 : (T)-1) : (T)0;
  T power = 1;
  for (; exponent != 0; exponent = exponent / 2) {
    if (exponent % 2 != 0) power = power * base;
    base = base * base;
  }
  return power;
}
)

// Of floating-point numbers as in Python and NumPy: the rest is exact and has the sign of the divisor, zero included; the quotient is the
// whole number nearest to (a - rest) / b. The quotient a / b rounded down would not do: 1.0 / 0.1 is 10, though 0.1 fits only nine times.
CLEAVE_PRELUDE(floor_remainder,
template <class T> T floor_remainder(T a, T b) {
  const T rest = fmod(a, b);
  if (rest == 0) return copysign((T)0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
)
CLEAVE_PRELUDE(floor_quotient,
template <class T> T floor_quotient(T a, T b) {
  if (b == 0) return a / b;
  const T rest = fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient = quotient - 1;
  if (quotient == 0) return copysign((T)0, a / b);
  const T whole = floor(quotient);
  return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
)
CLEAVE_PRELUDE(log_add_exp,
template <class T> T log_add_exp(T a, T b) {
  if (a == b) return a + log((T)2);  // infinities too
  const T apart = a - b;
  return (apart > 0 ? a : b) + log1p(exp(-fabs(apart)));
}
)
inline constexpr PreludeFunction kPrelude[] = {prelude_integer_power, prelude_floor_remainder, prelude_floor_quotient, prelude_log_add_exp};

enum class Result : std::uint8_t { same, truth };  ///< the type of the results: the operands', or bool

/// What an element costs: one operation; a division or a square root, which take several times as long; a function of many operations.
enum class Work : std::uint8_t { simple, division, root, math, test };
constexpr int flops_of(Work work) {
  return work == Work::math ? 10 : work == Work::division || work == Work::root ? 4 : 1;
}
constexpr CostClass class_of(Work work) {
  if (work == Work::test) return CostClass::comparison;
  if (work == Work::division || work == Work::root) return CostClass::division;
  return work == Work::math ? CostClass::transcendental : CostClass::arithmetic;
}

#include "graph/ops/elementwise.def"
// clang-format on

// `where` chooses among operands of any type by a bool, and `astype` is its conversion alone (selection.cpp).
struct Where {
  static constexpr const char* text = "a ? b : c";
  template <class T>
  static T apply(bool a, T b, T c) {
    return a ? b : c;
  }
};
struct AsType {
  static constexpr const char* text = "a";
};

}  // namespace cleave::scalars
