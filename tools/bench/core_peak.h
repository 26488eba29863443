// The fastest that one core multiplies and adds f32: a loop that touches registers only, in the widest instructions that the machine has.
// The roof over every matrix product.
#pragma once

#include <cstdint>

namespace cleave::bench {

/// Does at least `count` multiply-adds (two operations each) on f32.
void multiply_add(std::int64_t count);
/// By which instructions: avx512f, fma, or baseline.
const char* peak_instructions();

}  // namespace cleave::bench
