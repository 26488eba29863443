// Level: the instruction sets for which the host's loops are compiled. Which of them a machine has is asked when the program runs, so a
// portable binary stays portable. Every function of this room takes a level and gives null where there is nothing faster than the loops
// that the compiler makes for any machine of the architecture.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cleave::runtime::host {

enum class Level : std::uint8_t { neon, avx2, avx512 };

std::string_view to_string(Level level);
/// What was compiled and runs here, the best first; nothing where cleave was built without Highway.
std::span<const Level> levels();

}  // namespace cleave::runtime::host
