// The pattern that quantized models write between integers: `DequantizeLinear`, a product or a convolution, an activation,
// `QuantizeLinear`. Values remember the integers that they stand for, so that the whole becomes one product of integers (quantized_matmul,
// quantized_conv).
#pragma once

#include <optional>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The origin of a value of f32.
struct QuantizedOrigin {
  /// (steps - zero) * scale, with one scale and zero point, or one for each index of `axis`.
  struct Integers {
    Part steps, scale;
    std::optional<Part> zero;
    std::int64_t axis = 0;
  };
  /// A rescaled product: the operands of the operation up to the bias, its attributes, and the factor behind them.
  struct Product {
    const OpDef* function = nullptr;
    Parts operands;
    Part factor;
    Attributes attributes;
    bool relu = false;  ///< the value is its relu
  };
  std::optional<Integers> integers;
  std::optional<Product> product;
};

/// The operands of a product or convolution by their numbers in the node.
struct QuantizedFactors {
  std::size_t x = 0, weight = 1, bias = 2;
  std::int64_t weight_axis = 0;  ///< the axis of the weight that scales for each output are for
  bool transposed = false;       ///< the weight is a matrix, and multiplied transposed
};
/// The product as one of integers if its factors are dequantized i8 or u8; nothing if they are not.
std::optional<Values> product_of_integers(Call& c, const OpDef& function, const QuantizedFactors& factors, const Attributes& attributes);

/// `y`, the relu of operand 0, with the origin of operand 0 if that is a product.
Value with_relu(Call& c, Part y);
/// `QuantizeLinear` of operand 0 to `dtype` if it is a product of integers: the same product, rescaled to the scale and zero point of the
/// node. Nothing if it is not, or the scale is not a scalar.
std::optional<Part> requantized_product(Call& c, DType dtype);

}  // namespace cleave::models::onnx
