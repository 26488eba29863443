// Lowerings of element-wise operators: arithmetic, mathematics, comparisons, logic, bits and choices.
#include "models/onnx/broadcasting.h"
#include "models/onnx/table.h"

namespace cleave::models::onnx {
namespace {

/// An operation of the vocabulary that has ONNX's semantics and one operand.
Values unary(Call& c) {
  c.ignore({"consumed_inputs"});  // in version 1, without effect
  return {c(c.function(), {c[0]})};
}

/// The same with two operands, which broadcast.
Values binary(Call& c) {
  c.ignore({"consumed_inputs"});
  const auto operands = broadcast_operands(c);
  return operands ? Values{c(c.function(), {operands->first, operands->second})} : c.poison();
}

Part over_all(Call& c) {
  Part result = c[0];
  for (std::size_t i = 1; i < c.operands(); ++i) result = c(c.function(), {result, c[i]});
  return result;
}

/// Max, Min, Sum: any number of operands.
Values variadic(Call& c) {
  c.ignore({"consumed_inputs"});
  return {over_all(c)};
}

Values mean(Call& c) {
  return {c.divide(over_all(c), static_cast<double>(c.operands()))};
}

/// ONNX rounds the quotient of integers towards zero, whereas `floor_divide` rounds down.
Part quotient(Call& c, const Part& a, const Part& b) {
  if (!is_integer(a.dtype())) return c.divide(a, b);
  const Part down = c(op::floor_divide, {a, b});
  if (!is_signed(a.dtype())) return down;
  const Part inexact = c(op::not_equal, {c.multiply(down, b), a});
  const Part negative = c(op::not_equal, {c(op::less, {a, 0}), c(op::less, {b, 0})});
  return c.add(down, c.as(a.dtype(), c(op::logical_and, {inexact, negative})));
}

Values div(Call& c) {
  c.ignore({"consumed_inputs"});
  const auto operands = broadcast_operands(c);
  return operands ? Values{quotient(c, operands->first, operands->second)} : c.poison();
}

Values mod(Call& c) {
  if (!c.flag("fmod")) return {c(op::remainder, {c[0], c[1]})};
  const Part magnitude = c(op::remainder, {c(op::abs, {c[0]}), c(op::abs, {c[1]})});
  if (is_floating(c[0].dtype())) return {c(op::copysign, {magnitude, c[0]})};
  return {c(op::where, {c(op::less, {c[0], 0}), c(op::negative, {magnitude}), magnitude})};
}

/// The result has the type of the base.
Values pow(Call& c) {
  const auto operands = broadcast_operands(c);
  return operands ? Values{c.as(c[0].dtype(), c(op::pow, {operands->first, operands->second}))} : c.poison();
}

Values clip(Call& c) {
  c.ignore({"consumed_inputs"});
  Part x = c[0];
  const auto bound = [&](std::size_t operand, const char* attribute) {
    if (c.version() >= 11) return c.has(operand) ? c[operand] : Part();
    const std::optional<double> number = c.number(attribute);
    return number ? c.number_as(x.dtype(), *number) : Part();
  };
  const Part least = bound(1, "min");
  const Part most = bound(2, "max");
  if (!least.operand().poisoned()) x = c(op::maximum, {x, least});
  if (!most.operand().poisoned()) x = c(op::minimum, {x, most});
  return {x};
}

Values where(Call& c) {
  return {c(op::where, {c[0], c[1], c[2]})};
}

Values bit_shift(Call& c) {
  const std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") return c.mistake(DiagnosticKind::value, "`BitShift` needs `direction`, LEFT or RIGHT");
  return {c(direction == "LEFT" ? op::bitwise_left_shift : op::bitwise_right_shift, {c[0], c[1]})};
}

Values is_inf(Call& c) {
  const bool negative = c.flag("detect_negative", true);
  const bool positive = c.flag("detect_positive", true);
  const Part infinite = c(op::isinf, {c[0]});
  if (negative && positive) return {infinite};
  if (!negative && !positive) return {c(op::logical_and, {infinite, c(op::logical_not, {infinite})})};
  return {c(op::logical_and, {infinite, c(negative ? op::less : op::greater, {c[0], 0})})};
}

/// The operand itself: operators that have no effect on a plan leave no operation in the program.
Values identity(Call& c) {
  return {c.value(0)};
}

}  // namespace

std::span<const Lowering> elementwise_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Abs", 1, unary, &op::abs, true},
      {"Acos", 7, unary, &op::acos, true},
      {"Acosh", 9, unary, &op::acosh, true},
      {"Add", 1, binary, &op::add, true},
      {"And", 1, binary, &op::logical_and, true},
      {"Asin", 7, unary, &op::asin, true},
      {"Asinh", 9, unary, &op::asinh, true},
      {"Atan", 7, unary, &op::atan, true},
      {"Atanh", 9, unary, &op::atanh, true},
      {"BitShift", 11, bit_shift, {}, true},
      {"BitwiseAnd", 18, binary, &op::bitwise_and, true},
      {"BitwiseNot", 18, unary, &op::bitwise_invert, true},
      {"BitwiseOr", 18, binary, &op::bitwise_or, true},
      {"BitwiseXor", 18, binary, &op::bitwise_xor, true},
      {"Ceil", 1, unary, &op::ceil, true},
      {"Clip", 1, clip, {}, true},
      {"Cos", 7, unary, &op::cos, true},
      {"Cosh", 9, unary, &op::cosh, true},
      {"Div", 1, div, {}, true},
      {"Equal", 1, binary, &op::equal, true},
      {"Erf", 9, unary, &op::erf, true},
      {"Exp", 1, unary, &op::exp, true},
      {"Floor", 1, unary, &op::floor, true},
      {"Greater", 1, binary, &op::greater, true},
      {"GreaterOrEqual", 12, binary, &op::greater_equal, true},
      {"Identity", 1, identity, {}, true, true, Texts::keep},
      {"IsInf", 10, is_inf, {}, true},
      {"IsNaN", 9, unary, &op::isnan, true},
      {"Less", 1, binary, &op::less, true},
      {"LessOrEqual", 12, binary, &op::less_equal, true},
      {"Log", 1, unary, &op::log, true},
      {"Max", 1, variadic, &op::maximum, true},
      {"Mean", 1, mean, &op::add, true},
      {"MemcpyFromHost", 1, identity, {}, true, true, Texts::keep},  // ONNX Runtime's copies, in files that it saves
      {"MemcpyToHost", 1, identity, {}, true, true, Texts::keep},
      {"Min", 1, variadic, &op::minimum, true},
      {"Mod", 10, mod, {}, true},
      {"Mul", 1, binary, &op::multiply, true},
      {"Neg", 1, unary, &op::negative, true},
      {"Not", 1, unary, &op::logical_not, true},
      {"Or", 1, binary, &op::logical_or, true},
      {"Pow", 1, pow, {}, true},
      {"Reciprocal", 1, unary, &op::reciprocal, true},
      {"Round", 11, unary, &op::round, true},
      {"Sigmoid", 1, unary, &op::sigmoid, true},
      {"Sign", 9, unary, &op::sign, true},
      {"Sin", 7, unary, &op::sin, true},
      {"Sinh", 9, unary, &op::sinh, true},
      {"Sqrt", 1, unary, &op::sqrt, true},
      {"Sub", 1, binary, &op::subtract, true},
      {"Sum", 1, variadic, &op::add, true},
      {"Tan", 7, unary, &op::tan, true},
      {"Tanh", 1, unary, &op::tanh, true},
      {"Where", 9, where, {}, true},
      {"Xor", 1, binary, &op::logical_xor, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
