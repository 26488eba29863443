#include "models/onnx/quantized_origin.h"

#include <cmath>

#include "models/onnx/lengths.h"
#include "models/onnx/quantized.h"

namespace cleave::models::onnx {
namespace {

bool is_byte(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8;
}

Part zero_of(Call& c, const QuantizedOrigin::Integers& integers) {
  return integers.zero ? *integers.zero : c.number_as(integers.steps.dtype(), 0);
}

/// The integers that an operand stands for; null if it stands for none.
const QuantizedOrigin::Integers* integers_of(Call& c, std::size_t operand) {
  if (!c.has(operand)) return nullptr;
  const Value& value = c.value(operand);
  if (value.sequence || !value.origin || !value.origin->integers || value.part.operand().poisoned()) return nullptr;
  return bounded(c, value.part) ? nullptr : &*value.origin->integers;
}

/// Whether a scale has one element, or those of axis `axis` of its integers.
bool scaled_along(const QuantizedOrigin::Integers& integers, std::int64_t axis) {
  return integers.scale.rank() == 0 || integers.axis == axis;
}

/// Whether the scale of a bias is the product of the factors' scales, as far as rounding tells.
bool has_scale_of_product(Call& c, const QuantizedOrigin::Integers& bias, const Part& factor) {
  const std::optional<Array> own = c.known(Value(bias.scale)), product = c.known(Value(factor));
  if (!own || !product || own->size() == 0 || product->size() == 0) return false;
  if (own->size() != product->size() && own->size() != 1 && product->size() != 1) return false;
  for (std::int64_t i = 0; i < std::max(own->size(), product->size()); ++i) {
    const double a = own->at(own->size() == 1 ? 0 : i), b = product->at(product->size() == 1 ? 0 : i);
    if (!(std::abs(a - b) <= 1e-6 * std::abs(b))) return false;
  }
  return true;
}

bool is_known_zero(Call& c, const std::optional<Part>& zero) {
  if (!zero) return true;
  const std::optional<Array> known = c.known(Value(*zero));
  for (std::int64_t i = 0; known && i < known->size(); ++i)
    if (known->at(i) != 0) return false;
  return known.has_value();
}

/// The integers of a bias with the scale of the product; nothing if it is no such bias.
std::optional<Part> integer_bias(Call& c, std::size_t operand, const Part& factor, std::int64_t outputs) {
  const QuantizedOrigin::Integers* bias = integers_of(c, operand);
  if (!bias || bias->steps.dtype() != DType::i32 || !is_known_zero(c, bias->zero)) return std::nullopt;
  const bool fits = bias->steps.shape() == Shape{outputs} || bias->steps.rank() == 0;
  return fits && has_scale_of_product(c, *bias, factor) ? std::optional(bias->steps) : std::nullopt;
}

/// A bias in f32, shaped to be added to the result.
Part shaped_bias(Call& c, const Part& bias, const OpDef& function, int rank) {
  if (&function != &op::quantized_conv || bias.rank() != 1) return bias;
  Shape shape(static_cast<std::size_t>(rank - 1), 1);
  shape[0] = bias.shape()[0];
  return c.reshape(bias, std::move(shape));
}

}  // namespace

std::optional<Values> product_of_integers(Call& c, const OpDef& function, const QuantizedFactors& factors, const Attributes& attributes) {
  const QuantizedOrigin::Integers *x = integers_of(c, factors.x), *weight = integers_of(c, factors.weight);
  if (!x || !weight || !is_byte(x->steps.dtype()) || !is_byte(weight->steps.dtype())) return std::nullopt;
  const Shape shape = weight->steps.shape();
  if (x->scale.rank() != 0 || shape.size() < 2 || x->steps.rank() < 2 || !scaled_along(*weight, factors.weight_axis)) return std::nullopt;
  const Part factor = c.multiply(x->scale, weight->scale);
  const std::int64_t outputs = shape[static_cast<std::size_t>(factors.weight_axis)];
  const std::optional<Part> bias = integer_bias(c, factors.bias, factor, outputs);
  QuantizedOrigin::Product product;
  product.function = &function;
  product.operands = {x->steps, factors.transposed ? c(op::transpose, {weight->steps}) : weight->steps, zero_of(c, *x), zero_of(c, *weight),
                      bias ? *bias : c.number_as(DType::i32, 0)};
  product.factor = factor;
  product.attributes = attributes;
  Parts operands = product.operands;
  operands.push_back(factor);
  Value y(c(function, operands, attributes));
  if (c.has(factors.bias) && !bias) return Values{c.add(y.part, shaped_bias(c, c[factors.bias], function, y.part.rank()))};
  auto origin = std::make_shared<QuantizedOrigin>();
  origin->product = std::move(product);
  y.origin = std::move(origin);
  return Values{std::move(y)};
}

Value with_relu(Call& c, Part y) {
  Value value(std::move(y));
  const Value& x = c.value(0);
  if (!x.origin || !x.origin->product) return value;
  auto origin = std::make_shared<QuantizedOrigin>(*x.origin);
  origin->product->relu = true;
  value.origin = std::move(origin);
  return value;
}

std::optional<Part> requantized_product(Call& c, DType dtype) {
  const Value& x = c.value(0);
  if (!x.origin || !x.origin->product || !is_byte(dtype) || c[1].dtype() != DType::f32) return std::nullopt;
  const Part scale = whole_or_vector(c, c[1]), zero = c.has(2) ? whole_or_vector(c, c[2]) : c.number_as(dtype, 0);
  if (scale.rank() != 0 || zero.rank() != 0) return std::nullopt;
  const QuantizedOrigin::Product& product = *x.origin->product;
  Parts operands = product.operands;
  operands.push_back(c.divide(product.factor, scale));
  operands.push_back(zero);
  const Part y = c(*product.function, operands, product.attributes);
  if (!product.relu) return y;
  const std::optional<Array> known = c.known(Value(zero));
  if (known && known->at(0) == (dtype == DType::i8 ? -128 : 0)) return y;  // no step is below the zero point
  return c(op::maximum, {y, zero});
}

}  // namespace cleave::models::onnx
