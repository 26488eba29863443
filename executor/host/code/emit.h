// Emits a body as a loop in machine code; its one door is emit_loop. Only this code knows the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/host/code/body.h"
#include "executor/host/instructions.h"

namespace cleave::runtime::host {

/// Lanes that one iteration of the loop computes.
constexpr std::int64_t lanes_of(const Body& body, Instructions set) {
  return (set == Instructions::avx512 ? 64 : 32) / body.lane;
}

/// The number of address registers for streams and results.
inline constexpr std::size_t kMostStreams = 11;

/// `addresses`: of the streams, of the scalars and of the results, in the order of the body's values and stores. `count`: elements, a
/// multiple of the lanes of an iteration. `past_cache`: use non-temporal stores; results must be aligned to 64 bytes.
using CompiledLoop = void (*)(const void* const* addresses, std::int64_t count, std::int64_t past_cache);

/// Position-independent code; empty if it would be too long.
std::vector<std::byte> emit_loop(const Body& body, Instructions set);

}  // namespace cleave::runtime::host
