#include "models/onnx/narrow_type.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cleave::models::onnx {
namespace {

using Kind = NarrowType::Kind;
using Specials = SmallFloat::Specials;

constexpr std::array<NarrowType, 10> kNarrowTypes = {{
    {17, "float8e4m3fn", Kind::floating, 8, DType::f16, {Specials::nan, 3, 7, 448, 8}},
    {18, "float8e4m3fnuz", Kind::floating, 8, DType::f16, {Specials::unsigned_zero, 3, 8, 240, 7}},
    {19, "float8e5m2", Kind::floating, 8, DType::f16, {Specials::ieee, 2, 15, 57344, 15}},
    {20, "float8e5m2fnuz", Kind::floating, 8, DType::f16, {Specials::unsigned_zero, 2, 16, 57344, 15}},
    {21, "uint4", Kind::integer, 4, DType::u8},
    {22, "int4", Kind::integer, 4, DType::i8},
    {23, "float4e2m1", Kind::floating, 4, DType::f16, {Specials::finite, 1, 1, 6, 2}},
    {24, "float8e8m0", Kind::power, 8, DType::f32},
    {25, "uint2", Kind::integer, 2, DType::u8},
    {26, "int2", Kind::integer, 2, DType::i8},
}};

/// Operators whose results have the element type of their first operand, and those that take a narrow type otherwise.
constexpr std::array<std::string_view, 9> kKeeping = {"Dropout", "Flatten",       "Identity",  "Pad",      "Reshape",
                                                      "Squeeze", "TensorScatter", "Transpose", "Unsqueeze"};
constexpr std::array<std::string_view, 12> kTaking = {"Cast",
                                                      "CastLike",
                                                      "DequantizeLinear",
                                                      "If",
                                                      "IsInf",
                                                      "IsNaN",
                                                      "QuantizeLinear",
                                                      "Shape",
                                                      "Size",
                                                      "com.microsoft.DequantizeLinear",
                                                      "com.microsoft.GatherBlockQuantized",
                                                      "com.microsoft.QuantizeLinear"};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

double decoded_float(const SmallFloat& format, int bits, std::uint32_t element) {
  const std::uint32_t magnitude = element & ((1U << (bits - 1)) - 1), fraction = magnitude & ((1U << format.fraction) - 1);
  const auto exponent = static_cast<int>(magnitude >> format.fraction), largest = (1 << (bits - 1 - format.fraction)) - 1;
  const bool negative = magnitude != element;
  if (format.specials == Specials::unsigned_zero && negative && magnitude == 0) return kNaN;
  if (format.specials == Specials::nan && magnitude == (1U << (bits - 1)) - 1) return kNaN;
  double value = exponent == 0 ? std::ldexp(fraction, format.least_exponent() - format.fraction)
                               : std::ldexp((1U << format.fraction) + fraction, exponent - format.bias - format.fraction);
  if (format.specials == Specials::ieee && exponent == largest) value = fraction == 0 ? kInfinity : kNaN;
  return negative ? -value : value;
}

}  // namespace

double NarrowType::decoded(std::uint32_t element) const {
  switch (kind) {
    case Kind::integer: return element > most() ? static_cast<double>(element) - (1 << bits) : element;
    case Kind::floating: return decoded_float(format, bits, element);
    case Kind::power: break;
  }
  return element == 0xFF ? kNaN : std::ldexp(1.0, static_cast<int>(element) - 127);
}

const NarrowType* narrow_type(std::int64_t data_type) {
  const auto found = std::find_if(kNarrowTypes.begin(), kNarrowTypes.end(), [&](const NarrowType& each) { return each.code == data_type; });
  return found == kNarrowTypes.end() ? nullptr : &*found;
}

bool takes_narrow(std::string_view op) {
  return keeps_element_type(op) || std::find(kTaking.begin(), kTaking.end(), op) != kTaking.end();
}

bool keeps_element_type(std::string_view op) {
  return std::find(kKeeping.begin(), kKeeping.end(), op) != kKeeping.end();
}

}  // namespace cleave::models::onnx
