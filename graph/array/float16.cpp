// Conversion of Half and BFloat16 from and to float, rounding to nearest even. NaNs stay NaNs (quiet), with sign and leading payload bits.
#include <bit>

#include "graph/array/tensor_type.h"

namespace cleave {
namespace {

/// Drops the lowest `count` bits of `bits`, rounding to nearest even.
std::uint32_t round_off(std::uint32_t bits, int count) {
  std::uint32_t half = std::uint32_t{1} << (count - 1);
  std::uint32_t odd = (bits >> count) & 1u;
  return (bits + half - 1 + odd) >> count;
}

}  // namespace

Half::Half(float value) {
  std::uint32_t all = std::bit_cast<std::uint32_t>(value);
  std::uint32_t sign = (all >> 16) & 0x8000u;
  std::uint32_t magnitude = all & 0x7fffffffu;
  std::uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x47800000u) {  // 2^16 and above: infinity
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // normal from 2^-14 on; a carry out of the mantissa moves the exponent, up to infinity
    result = round_off(magnitude - (std::uint32_t{112} << 23), 13);
  } else if (magnitude < 0x33000000u) {  // below half of the smallest subnormal
    result = 0;
  } else {
    int shift = 126 - static_cast<int>(magnitude >> 23);  // 14 for the largest subnormals, 24 for the smallest
    result = round_off((magnitude & 0x7fffffu) | 0x800000u, shift);
  }
  bits = static_cast<std::uint16_t>(sign | result);
}

Half::operator float() const {
  std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  std::uint32_t quiet = exponent == 31 && mantissa != 0 ? 0x400000u : 0;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13) | quiet);
}

BFloat16::BFloat16(float value) {
  std::uint32_t all = std::bit_cast<std::uint32_t>(value);
  bool nan = (all & 0x7fffffffu) > 0x7f800000u;
  bits = static_cast<std::uint16_t>(nan ? (all >> 16) | 0x40u : round_off(all, 16));
}

BFloat16::operator float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace cleave
