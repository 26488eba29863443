// exp … isinf: math on floating-point numbers (integers become f32), rounding and classification of all numbers.
#include "graph/ops/elementwise.h"
#include "graph/ops/op_table.h"

namespace cleave::ops {
namespace {

/// A math function, about ten operations an element.
template <class Op>
OpDef math(std::string summary) {
  return elementwise<Op, Domain::floating, false, 10>(Promotion::floating, std::move(summary));
}

template <class Op>
OpDef rounding(std::string summary) {
  return elementwise<Op, Domain::numeric>(Promotion::none, std::move(summary));
}

template <class Op>
OpDef classification(std::string summary) {
  return elementwise<Op, Domain::numeric, true>(Promotion::none, std::move(summary));
}

}  // namespace

std::span<const OpDef> math_ops() {
  using namespace scalars;
  static const std::vector<OpDef> ops = {
      math<Exp>("e to the power of x"),
      math<Expm1>("`exp(x) - 1`, exact near zero"),
      math<Log>("natural logarithm"),
      math<Log1p>("`log(1 + x)`, exact near zero"),
      math<Log2>("logarithm to base 2"),
      math<Sqrt>("square root"),
      math<Rsqrt>("`1 / sqrt(x)`"),
      math<Reciprocal>("`1 / x`"),
      math<Sin>("sine"),
      math<Cos>("cosine"),
      math<Tan>("tangent"),
      math<Asin>("inverse sine"),
      math<Acos>("inverse cosine"),
      math<Atan>("inverse tangent"),
      math<Atan2>("angle of the point (x2, x1)"),
      math<Sinh>("hyperbolic sine"),
      math<Cosh>("hyperbolic cosine"),
      math<Tanh>("hyperbolic tangent"),
      math<Erf>("error function"),
      math<Sigmoid>("`1 / (1 + exp(-x))`"),
      elementwise<Relu, Domain::numeric>(Promotion::none, "`maximum(x, 0)`"),
      math<Gelu>("`x / 2 * (1 + erf(x / sqrt(2)))`, the exact form"),
      rounding<Floor>("rounds down; integers stay"),
      rounding<Ceil>("rounds up; integers stay"),
      rounding<Round>("rounds to nearest, ties to even; integers stay"),
      rounding<Trunc>("rounds towards zero; integers stay"),
      classification<IsNan>("is x not a number?"),
      classification<IsFinite>("is x neither infinite nor NaN?"),
      classification<IsInf>("is x infinite?"),
  };
  return ops;
}

}  // namespace cleave::ops
