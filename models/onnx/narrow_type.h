// The element types of ONNX that are narrower than those of the vocabulary: integers of 4 and 2 bits, floating point of 8 and 4 bits. The
// vocabulary has none of them. Each is carried in a type that holds all of its values exactly, and a Value remembers which one was
// declared. Here is what a narrow type is; narrowing.h rounds to it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "graph/array/tensor_type.h"

namespace cleave::models::onnx {

/// The bits of a small floating-point type: a sign, an exponent, a fraction.
struct SmallFloat {
  /// What the largest codes mean. `finite`: numbers. `nan`: all bits set are NaN, and there is no infinity. `ieee`: the largest exponent is
  /// infinity and NaN. `unsigned_zero`: the code of -0 is NaN, and there is no infinity.
  enum class Specials : std::uint8_t { finite, nan, ieee, unsigned_zero } specials = Specials::finite;
  int fraction = 0;   ///< bits
  int bias = 0;       ///< of the exponent
  double most = 0;    ///< the largest finite value
  int most_exponent;  ///< of `most`
  /// The exponent of the smallest normal value; subnormal values have its spacing.
  [[nodiscard]] constexpr int least_exponent() const { return 1 - bias; }
};

struct NarrowType {
  enum class Kind : std::uint8_t {
    integer,   ///< two's complement, or without a sign
    floating,  ///< a SmallFloat
    power,     ///< e8m0: an exponent of 8 bits without sign and fraction, a power of two; no zero
  };
  std::int64_t code;      ///< TensorProto.DataType
  std::string_view name;  ///< ONNX's
  Kind kind;
  int bits;
  DType carrier;  ///< the element type that the values have in the program
  SmallFloat format = {};
  [[nodiscard]] bool is_signed() const { return carrier == DType::i8; }
  /// The range of an integer type.
  [[nodiscard]] std::int64_t least() const { return is_signed() ? -(1 << (bits - 1)) : 0; }
  [[nodiscard]] std::int64_t most() const { return (1 << (is_signed() ? bits - 1 : bits)) - 1; }
  /// The value of an element with these bits.
  [[nodiscard]] double decoded(std::uint32_t element) const;
  /// The bytes that `elements` values take in a file: those of less than a byte are packed, the first one in the low bits.
  [[nodiscard]] std::int64_t packed_bytes(std::int64_t elements) const { return elements / (8 / bits) + (elements % (8 / bits) != 0); }
};

/// The narrow type of a TensorProto.DataType, null if it is none.
const NarrowType* narrow_type(std::int64_t data_type);
/// Whether the operator takes values of narrow types: those that move or describe data, and conversions. All others are refused.
bool takes_narrow(std::string_view op);
/// Whether the results of the operator have the element type of its first operand.
bool keeps_element_type(std::string_view op);

}  // namespace cleave::models::onnx
