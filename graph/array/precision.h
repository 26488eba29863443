// Precision: what the accelerator's matrix products of f32 may be computed in. A caller asks for it, machine files have rates for it,
// devices keep to it. Knows no device.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave {

/// True f32; or operands rounded to ten (tf32) or seven (bf16) bits of mantissa, where products and sums are still f32. It is about the
/// accelerator's products of f32 alone: everything else, and everything on the host, is computed in its own type.
enum class Precision : std::uint8_t { f32, tf32, bf16 };

[[nodiscard]] constexpr std::string_view to_string(Precision precision) {
  return precision == Precision::tf32 ? "tf32" : precision == Precision::bf16 ? "bf16" : "f32";
}

}  // namespace cleave
