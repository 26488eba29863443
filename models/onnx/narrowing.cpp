#include "models/onnx/narrowing.h"

#include <cmath>
#include <limits>

namespace cleave::models::onnx {
namespace {

using Specials = SmallFloat::Specials;

/// Keeps the low bits of an integer, and extends their sign. `x` has the carrier.
Part low_bits(Call& c, const Part& x, const NarrowType& narrow) {
  if (!narrow.is_signed()) return c(op::bitwise_and, {x, c.number_as(narrow.carrier, static_cast<double>(narrow.most()))});
  const Part count = c.number_as(narrow.carrier, 8 - narrow.bits);
  return c(op::bitwise_right_shift, {c(op::bitwise_left_shift, {x, count}), count});
}

/// The distance of neighboring values of the format around `x`: a power of two, exactly. The logarithm may be inexact: near a power of two
/// both candidates for the spacing round `x` to that power.
Part spacing(Call& c, const Part& x, const SmallFloat& format) {
  const int least = format.least_exponent();
  const Part exponent = c.as(DType::i32, c(op::floor, {c(op::log2, {c(op::abs, {x})})}));  // of 0 the least i32, of NaN 0
  const Part steps = c.subtract(c(op::clip, {exponent, least, format.most_exponent}), least);
  const Part power = c.as(x.dtype(), c(op::bitwise_left_shift, {c.scalar(std::int32_t{1}), steps}));
  return c.multiply(power, c.number_as(x.dtype(), std::ldexp(1.0, least - format.fraction)));
}

/// `x`, of f32, rounded to the nearest value of the format, halves to even. f64 is rounded to f32 first, as in ONNX Runtime and ml_dtypes.
Part rounded(Call& c, Part x, const SmallFloat& format, bool saturate) {
  const auto number = [&](double value) { return c.number_as(x.dtype(), value); };
  const Part most = number(format.most);
  saturate = saturate || format.specials == Specials::finite;
  if (saturate) x = c(op::clip, {x, number(-format.most), most});
  const Part step = spacing(c, x, format);
  Part y = c.multiply(c(op::round, {c.divide(x, step)}), step);
  if (!saturate) {
    const double beyond = format.specials == Specials::ieee ? std::numeric_limits<double>::infinity() : std::nan("");
    const Part outside = c(op::greater, {c(op::abs, {y}), most});
    y = c(op::where, {outside, c(op::copysign, {number(beyond), y}), y});
  }
  if (format.specials == Specials::unsigned_zero) y = c(op::where, {c(op::equal, {y, number(0)}), number(0), y});
  if (format.specials == Specials::finite) y = c(op::where, {c(op::isnan, {x}), number(-0.0), y});
  return y;
}

/// `x`, of f32, as a power of two (e8m0), from its bits: the sign is dropped, infinity is NaN, and 0 is the smallest power.
Part power_of_two(Call& c, const Part& x, const Narrowing& how) {
  constexpr std::int32_t kFractionBits = 23, kFraction = (1 << kFractionBits) - 1, kHalf = 1 << (kFractionBits - 1), kNoNumber = 0xFF;
  const auto number = [&](std::int32_t value) { return c.scalar(value); };
  const Part bits = c(op::bitcast, {x}, {{"dtype", DType::i32}});
  const Part fraction = c(op::bitwise_and, {bits, number(kFraction)});
  Part exponent = c(op::bitwise_and, {c(op::bitwise_right_shift, {bits, number(kFractionBits)}), number(0xFF)});
  if (how.round_mode != "down") {
    Part up = c(op::greater, {fraction, number(0)});
    if (how.round_mode == "nearest") {
      const Part odd = c.as(DType::i32, c(op::greater, {exponent, number(0)}));  // half of the smallest power rounds down
      up = c(op::greater, {c.add(fraction, odd), number(kHalf)});
    }
    const Part room = c(op::less, {exponent, number(how.saturate ? kNoNumber - 1 : kNoNumber)});
    exponent = c.add(exponent, c.as(DType::i32, c(op::logical_and, {up, room})));
  }
  constexpr std::int32_t kNaNBits = 0x7FC00000;
  const Part special = c(op::equal, {exponent, number(kNoNumber)});
  const Part smallest = c(op::equal, {exponent, number(0)});
  Part power = c(op::bitwise_left_shift, {exponent, number(kFractionBits)});
  power = c(op::where, {special, number(kNaNBits), power});
  power = c(op::where, {smallest, number(kHalf), power});  // 2^-127 is subnormal in f32
  return c(op::bitcast, {power}, {{"dtype", DType::f32}});
}

}  // namespace

Value converted(Call& c, const Value& x, const ElementType& to, const Narrowing& how) {
  if (!to.narrow || to.narrow == x.narrow) return {c.as(to.dtype, x.part), to.narrow};
  const NarrowType& narrow = *to.narrow;
  switch (narrow.kind) {
    case NarrowType::Kind::integer: {
      // Floating point beyond the carrier saturates there, and its low bits are to be kept: so the conversion is by way of i32.
      const Part whole = is_floating(x.part.dtype()) ? c.as(DType::i32, x.part) : x.part;
      return {low_bits(c, c.as(narrow.carrier, whole), narrow), &narrow};
    }
    case NarrowType::Kind::floating:
      return {c.as(narrow.carrier, rounded(c, c.as(DType::f32, x.part), narrow.format, how.saturate)), &narrow};
    case NarrowType::Kind::power: break;
  }
  if (how.round_mode != "up" && how.round_mode != "down" && how.round_mode != "nearest") {
    c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: `round_mode` is up, down or nearest, not " + how.round_mode);
    return {};
  }
  return {power_of_two(c, c.as(DType::f32, x.part), how), &narrow};
}

}  // namespace cleave::models::onnx
