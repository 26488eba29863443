// A body as a loop in machine code: the one place that knows the processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/host/code/body.h"
#include "executor/host/instructions.h"

namespace cleave::runtime::host {

/// Lanes that a turn of the loop computes.
constexpr std::int64_t lanes_of(const Body& body, Instructions set) {
  return (set == Instructions::avx512 ? 64 : 32) / body.lane;
}

/// Registers there are for places in memory: streams that are read, and results.
inline constexpr std::size_t kMostStreams = 11;

/// Takes the addresses of the streams, of the scalars and of the results, in the order of the body's values and of what it stores; how
/// many elements, a whole number of turns; and whether results go past the cache, for which they lie at multiples of 64 bytes.
using CompiledLoop = void (*)(const void* const* addresses, std::int64_t count, std::int64_t past_cache);

/// The code, which runs wherever it is put. Empty: it would be too long.
std::vector<std::byte> emit_loop(const Body& body, Instructions set);

}  // namespace cleave::runtime::host
