#include "models/onnx/quantized.h"

#include "models/onnx/broadcasting.h"
#include "models/onnx/lengths.h"

namespace cleave::models::onnx {

Part whole_or_vector(Call& c, const Part& part) {
  return part.rank() > 0 && part.type().elements() == 1 ? c.reshape(part, {}) : part;
}

std::string titled(Call& c, std::size_t operand) {
  const Value& value = c.value(operand);
  const auto& inputs = c.node().inputs;
  const std::string name = operand < inputs.size() ? "`" + std::string(inputs[operand]) + "` " : "";
  return name + "(" + (value.narrow ? std::string(value.narrow->name) + to_string(value.part.shape()) : to_string(value.part.type())) + ")";
}

bool is_scale(Call& c, std::size_t scale) {
  const Part& part = c[scale];
  if (part.operand().poisoned()) return false;
  if (is_floating(part.dtype()) && part.type().elements() == 1) return true;
  c.mistake(DiagnosticKind::type, "`" + std::string(c.op()) + "`: " + titled(c, scale) + " must be a scale: one element of floating point");
  return false;
}

bool is_zero_point(Call& c, std::size_t zero_point, std::size_t of) {
  if (!c.has(zero_point)) return true;
  const Part& part = c[zero_point];
  if (part.dtype() == c[of].dtype() && part.type().elements() == 1) return true;
  c.mistake(DiagnosticKind::type, "`" + std::string(c.op()) + "`: " + titled(c, zero_point) +
                                      " must be a zero point: one element of the type of " + titled(c, of));
  return false;
}

bool is_quantized(Call& c, std::size_t x) {
  const DType dtype = c[x].dtype();
  if (c[x].operand().poisoned()) return false;
  if (dtype == DType::i8 || dtype == DType::u8) return is_scale(c, x + 1) && is_zero_point(c, x + 2, x);
  c.mistake(DiagnosticKind::type, "`" + std::string(c.op()) + "`: " + titled(c, x) + " must be of i8 or u8");
  return false;
}

bool is_quantized(Call& c, std::size_t x, std::size_t result) {
  return is_quantized(c, x) && is_scale(c, result) && is_zero_point(c, result + 1, x);
}

Part dequantized(Call& c, std::size_t x) {
  Parts operands{c[x], whole_or_vector(c, c[x + 1])};
  if (c.has(x + 2)) operands.push_back(whole_or_vector(c, c[x + 2]));
  return c(op::dequantize, operands);
}

Part requantized(Call& c, const Part& numbers, std::size_t x, std::size_t result) {
  Parts operands{numbers, whole_or_vector(c, c[result])};
  if (c.has(result + 1)) operands.push_back(whole_or_vector(c, c[result + 1]));
  return c(op::quantize, operands, {{"dtype", c[x].dtype()}});
}

bool are_small_integers(Call& c, std::initializer_list<std::size_t> operands) {
  for (const std::size_t each : operands) {
    if (c[each].dtype() == DType::i8 || c[each].dtype() == DType::u8) continue;
    if (!c[each].operand().poisoned())
      c.mistake(DiagnosticKind::type, "`" + std::string(c.op()) + "`: " + titled(c, each) + " must be of i8 or u8");
    return false;
  }
  return true;
}

bool are_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point, std::int64_t count, std::string_view what) {
  for (const std::size_t each : {scale, zero_point}) {
    if (!c.has(each)) continue;
    const Part& part = c[each];
    const bool typed = each == scale ? is_floating(part.dtype()) : part.dtype() == c[of].dtype();
    if (typed && (part.type().elements() == 1 || part.rank() > 1 || part.shape() == Shape{count})) continue;
    c.mistake(typed ? DiagnosticKind::shape : DiagnosticKind::type,
              "`" + std::string(c.op()) + "`: " + titled(c, each) + (each == scale ? " must be a scale" : " must be a zero point") +
                  " with one element, or with the " + std::to_string(count) + " " + std::string(what) + " of " + titled(c, of));
    return false;
  }
  return true;
}

bool are_columns_scaled(Call& c, std::size_t of, std::size_t scale, std::size_t zero_point) {
  const Shape shape = c[of].shape();
  return are_scaled(c, of, scale, zero_point, shape.empty() ? 1 : shape.back(), "columns");
}

Part zero_point_of(Call& c, std::size_t zero_point) {
  return c.has(zero_point) ? c.as(DType::f32, whole_or_vector(c, c[zero_point])) : c.scalar(0.0F);
}

Part along(Call& c, const Part& part, int axis) {
  const Part one = whole_or_vector(c, part);
  return axis < -1 && one.rank() == 1 ? along_axis(c, one, 0, -axis) : one;
}

Part centred(Call& c, std::size_t operand, std::size_t zero_point, DType wide, int axis) {
  const Part& x = c[operand];
  if (!c.has(zero_point)) return x;
  const std::optional<Array> known = c.known(zero_point);
  bool zero = known.has_value();
  for (std::int64_t i = 0; zero && i < known->size(); ++i) zero = known->at(i) == 0;
  if (zero) return x;
  const Part point = along(c, c.as(wide, c[zero_point]), axis);
  return c.subtract(c.as(wide, x), point);
}

bool are_plain_factors(Call& c, std::size_t x, std::size_t x_zero, std::size_t weight_zero) {
  const auto rank = [&](std::size_t operand) { return c.has(operand) && c[operand].type().elements() != 1 ? c[operand].rank() : 0; };
  return c[x].rank() >= 2 && rank(x_zero) == 0 && rank(weight_zero) <= 1 && !bounded(c, c[x]);
}

Part zero_or_none(Call& c, std::size_t zero_point, std::size_t of) {
  return c.has(zero_point) ? whole_or_vector(c, c[zero_point]) : c.number_as(c[of].dtype(), 0);
}

Part integer_product(Call& c, std::size_t a, std::size_t a_zero_point, std::size_t b, std::size_t b_zero_point) {
  if (are_plain_factors(c, a, a_zero_point, b_zero_point) && c[b].rank() >= 2 && !bounded(c, c[b]))
    return c(op::quantized_matmul, {c[a], c[b], zero_or_none(c, a_zero_point, a), zero_or_none(c, b_zero_point, b)});
  const Part left = centred(c, a, a_zero_point, DType::i32, -2), right = centred(c, b, b_zero_point, DType::i32, -1);
  return c.as(DType::i32, c(op::matmul, {left, right}));
}

DynamicallyQuantized dynamically_quantized(Call& c, const Part& x) {
  const Part most = c(op::maximum, {c(op::max, {x}), 0}), least = c(op::minimum, {c(op::min, {x}), 0});
  const Part range = c.subtract(most, least);
  const Part scale = c.divide(c(op::where, {c(op::equal, {range, 0}), 1, range}), 255);
  const Part zero_point = c.as(DType::u8, c(op::round, {c(op::clip, {c.divide(c(op::negative, {least}), scale), 0, 255})}));
  return {c(op::quantize, {x, scale, zero_point}), scale, zero_point};
}

}  // namespace cleave::models::onnx
