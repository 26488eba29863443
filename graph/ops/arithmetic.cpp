// add … square: numbers of any type, common promotion; `divide` gives floating point.
#include "graph/ops/elementwise.h"
#include "graph/ops/op_table.h"

namespace cleave::ops {

std::span<const OpDef> arithmetic_ops() {
  using namespace scalars;
  using enum Promotion;
  constexpr auto numeric = Domain::numeric;
  static const std::vector<OpDef> ops = {
      elementwise<Add, numeric>(common, "`x1 + x2`"),
      elementwise<Subtract, numeric>(common, "`x1 - x2`"),
      elementwise<Multiply, numeric>(common, "`x1 * x2`"),
      elementwise<Divide, Domain::floating>(floating, "`x1 / x2`, true division: integers give f32"),
      elementwise<FloorDivide, numeric>(
          common, "`x1 // x2`, rounded down so that it fits `x1 % x2`, as in Python: `1.0 // 0.1` is 9; an integer by zero gives 0"),
      elementwise<Remainder, numeric>(common, "`x1 % x2`, with the sign of the divisor, a zero too; an integer by zero gives 0"),
      elementwise<Pow, numeric, false, 10>(common, "`x1 ** x2`; integers with a negative exponent round towards zero"),
      elementwise<Negative, numeric>(none, "`-x`"),
      elementwise<Abs, numeric>(none, "magnitude"),
      elementwise<Sign, numeric>(none, "-1, 0 or 1; NaN stays NaN"),
      elementwise<Minimum, numeric>(common, "the smaller of two; NaN if either is"),
      elementwise<Maximum, numeric>(common, "the larger of two; NaN if either is"),
      elementwise<Square, numeric>(none, "`x * x`"),
  };
  return ops;
}

}  // namespace cleave::ops
