// Level: the instruction sets for which the host's loops are compiled. The machine is queried at run time, so a portable binary stays
// portable. Each function of this room takes a level, and returns null if it has nothing faster than the compiler's loops for the
// architecture's baseline.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cleave::runtime::host {

enum class Level : std::uint8_t { neon, avx2, avx512 };

std::string_view to_string(Level level);
/// The levels that were compiled and run on this machine, the best first; empty if cleave was built without Highway.
std::span<const Level> levels();

}  // namespace cleave::runtime::host
