// The peak rate of f32 multiply-adds on one core: a loop that uses only registers, with the widest instructions of the machine. An upper
// bound for every matrix product.
#pragma once

#include <cstdint>

namespace cleave::bench {

/// Does at least `count` multiply-adds (two operations each) on f32.
void multiply_add(std::int64_t count);
/// The instruction set of the loop: avx512f, fma, or baseline.
const char* peak_instructions();

}  // namespace cleave::bench
