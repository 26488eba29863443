// The scalar meaning of every element-wise op, each written once: the macros turn the expression into text, from which devices generate
// code, and into `apply`, from which the meaning (and any kernel that likes) is compiled.
#pragma once

#include <cmath>
#include <string_view>

#include "graph/ops/wrapping.h"

namespace cleave::scalars {

struct PreludeFunction {
  std::string_view name, text;
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage): text and code from one expression need a macro.
/// A function that expressions may call, as code and as text.
#define CLEAVE_PRELUDE(function, ...) \
  __VA_ARGS__                         \
  inline constexpr PreludeFunction prelude_##function{#function, #__VA_ARGS__};

/// `name` of `operands` operands: the expression over a, b, c of type T (the `a` of `where` is a bool).
#define CLEAVE_SCALAR(Struct, op_name, operands, ...)                                                 \
  struct Struct {                                                                                     \
    static constexpr const char* name = op_name;                                                      \
    static constexpr int arity = operands;                                                            \
    static constexpr const char* text = #__VA_ARGS__;                                                 \
    static constexpr const char* integer_text = text;                                                 \
    template <class T, class A = T>                                                                   \
    static auto apply([[maybe_unused]] A a, [[maybe_unused]] T b = T(), [[maybe_unused]] T c = T()) { \
      return __VA_ARGS__;                                                                             \
    }                                                                                                 \
  };

/// As above, with an expression of its own for integers.
#define CLEAVE_SCALAR_SPLIT(Struct, op_name, operands, expression, integer_expression)                \
  struct Struct {                                                                                     \
    static constexpr const char* name = op_name;                                                      \
    static constexpr int arity = operands;                                                            \
    static constexpr const char* text = #expression;                                                  \
    static constexpr const char* integer_text = #integer_expression;                                  \
    template <class T>                                                                                \
    static auto apply([[maybe_unused]] T a, [[maybe_unused]] T b = T(), [[maybe_unused]] T c = T()) { \
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bool>) {                         \
        return expression;                                                                            \
      } else {                                                                                        \
        return integer_expression;                                                                    \
      }                                                                                               \
    }                                                                                                 \
  };
// NOLINTEND(cppcoreguidelines-macro-usage)

using std::acos, std::asin, std::atan, std::atan2, std::ceil, std::copysign, std::cos, std::cosh, std::erf, std::exp, std::expm1, std::fabs,
    std::floor, std::fmod, std::log, std::log1p, std::log2, std::pow, std::rint, std::sin, std::sinh, std::sqrt, std::tan, std::tanh,
    std::trunc;

// What expressions may call beside the C math library.
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
inline constexpr PreludeFunction kPrelude[] = {prelude_integer_power, prelude_floor_remainder, prelude_floor_quotient};

// Arithmetic. An integer divided by zero gives 0 and the smallest one divided by -1 wraps: nothing traps on any device.
CLEAVE_SCALAR(Add, "add", 2, a + b)
CLEAVE_SCALAR(Subtract, "subtract", 2, a - b)
CLEAVE_SCALAR(Multiply, "multiply", 2, a * b)
CLEAVE_SCALAR(Divide, "divide", 2, a / b)
CLEAVE_SCALAR_SPLIT(FloorDivide, "floor_divide", 2, floor_quotient<T>(a, b),
    b == 0 ? (T)0 : b < 0 && b == -1 ? (T)-a : (T)(a / b - (a % b != 0 && (a % b < 0) != (b < 0))))
CLEAVE_SCALAR_SPLIT(Remainder, "remainder", 2,
    floor_remainder<T>(a, b),
    b == 0 || (b < 0 && b == -1) ? (T)0 : a % b != 0 && (a % b < 0) != (b < 0) ? (T)(a % b + b) : (T)(a % b))
CLEAVE_SCALAR_SPLIT(Pow, "pow", 2, pow(a, b), integer_power<T>(a, b))
CLEAVE_SCALAR(Negative, "negative", 1, -a)
CLEAVE_SCALAR_SPLIT(Abs, "abs", 1, fabs(a), a < 0 ? (T)-a : a)
CLEAVE_SCALAR(Sign, "sign", 1, a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a)
CLEAVE_SCALAR(Minimum, "minimum", 2, a < b || a != a ? a : b)
CLEAVE_SCALAR(Maximum, "maximum", 2, a > b || a != a ? a : b)
CLEAVE_SCALAR(Square, "square", 1, a * a)

// Math. Rounding an integer changes nothing.
CLEAVE_SCALAR(Exp, "exp", 1, exp(a))
CLEAVE_SCALAR(Expm1, "expm1", 1, expm1(a))
CLEAVE_SCALAR(Log, "log", 1, log(a))
CLEAVE_SCALAR(Log1p, "log1p", 1, log1p(a))
CLEAVE_SCALAR(Log2, "log2", 1, log2(a))
CLEAVE_SCALAR(Sqrt, "sqrt", 1, sqrt(a))
CLEAVE_SCALAR(Rsqrt, "rsqrt", 1, 1 / sqrt(a))
CLEAVE_SCALAR(Reciprocal, "reciprocal", 1, 1 / a)
CLEAVE_SCALAR(Sin, "sin", 1, sin(a))
CLEAVE_SCALAR(Cos, "cos", 1, cos(a))
CLEAVE_SCALAR(Tan, "tan", 1, tan(a))
CLEAVE_SCALAR(Asin, "asin", 1, asin(a))
CLEAVE_SCALAR(Acos, "acos", 1, acos(a))
CLEAVE_SCALAR(Atan, "atan", 1, atan(a))
CLEAVE_SCALAR(Atan2, "atan2", 2, atan2(a, b))
CLEAVE_SCALAR(Sinh, "sinh", 1, sinh(a))
CLEAVE_SCALAR(Cosh, "cosh", 1, cosh(a))
CLEAVE_SCALAR(Tanh, "tanh", 1, tanh(a))
CLEAVE_SCALAR(Erf, "erf", 1, erf(a))
CLEAVE_SCALAR(Sigmoid, "sigmoid", 1, 1 / (1 + exp(-a)))
CLEAVE_SCALAR(Relu, "relu", 1, a < 0 ? (T)0 : a)
CLEAVE_SCALAR(Gelu, "gelu", 1, a / 2 * (1 + erf(a / sqrt((T)2))))
CLEAVE_SCALAR_SPLIT(Floor, "floor", 1, floor(a), a)
CLEAVE_SCALAR_SPLIT(Ceil, "ceil", 1, ceil(a), a)
CLEAVE_SCALAR_SPLIT(Round, "round", 1, rint(a), a)
CLEAVE_SCALAR_SPLIT(Trunc, "trunc", 1, trunc(a), a)
CLEAVE_SCALAR(IsNan, "isnan", 1, a != a)
CLEAVE_SCALAR(IsFinite, "isfinite", 1, a - a == 0)
CLEAVE_SCALAR(IsInf, "isinf", 1, a == a && a - a != 0)

// Comparisons.
CLEAVE_SCALAR(Equal, "equal", 2, a == b)
CLEAVE_SCALAR(NotEqual, "not_equal", 2, a != b)
CLEAVE_SCALAR(Less, "less", 2, a < b)
CLEAVE_SCALAR(LessEqual, "less_equal", 2, a <= b)
CLEAVE_SCALAR(Greater, "greater", 2, a > b)
CLEAVE_SCALAR(GreaterEqual, "greater_equal", 2, a >= b)

// Logic on bool; bitwise on integers and bool.
CLEAVE_SCALAR(LogicalAnd, "logical_and", 2, a && b)
CLEAVE_SCALAR(LogicalOr, "logical_or", 2, a || b)
CLEAVE_SCALAR(LogicalXor, "logical_xor", 2, a != b)
CLEAVE_SCALAR(LogicalNot, "logical_not", 1, !a)
CLEAVE_SCALAR(BitwiseAnd, "bitwise_and", 2, (T)(a & b))
CLEAVE_SCALAR(BitwiseOr, "bitwise_or", 2, (T)(a | b))
CLEAVE_SCALAR(BitwiseXor, "bitwise_xor", 2, (T)(a ^ b))
CLEAVE_SCALAR_SPLIT(BitwiseInvert, "bitwise_invert", 1, !a, (T)~a)

// Selection. `astype` is its conversion alone.
CLEAVE_SCALAR(Where, "where", 3, a ? b : c)
CLEAVE_SCALAR(Clip, "clip", 3, a < b ? (c < b ? c : b) : a > c ? c : a)
CLEAVE_SCALAR(AsType, "astype", 1, a)
// clang-format on

}  // namespace cleave::scalars
