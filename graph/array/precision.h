// Precision: the precision in which the accelerator may compute f32 matrix products. Callers choose it, machine files have rates for it,
// and devices must respect it. Knows no device.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave {

/// True f32; or operands rounded to ten (tf32) or seven (bf16) bits of mantissa, where products and sums are still f32. It applies only to
/// f32 products on the accelerator: all other operations, and the host, compute in the operands' own type.
enum class Precision : std::uint8_t { f32, tf32, bf16 };

[[nodiscard]] constexpr std::string_view to_string(Precision precision) {
  return precision == Precision::tf32 ? "tf32" : precision == Precision::bf16 ? "bf16" : "f32";
}

}  // namespace cleave
