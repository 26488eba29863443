// Loops, copies and fills of any length. A long one polls the stop sign (graph/base/stop.h) between its parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "graph/base/stop.h"

namespace cleave::runtime::host {

/// Bytes between two polls: large enough for memcpy's path for long copies, small enough for a few milliseconds.
inline constexpr std::int64_t kLongCopy = 16 << 20;

/// Like `each_with_looks`, but polls only between two parts: for work that is mostly short and is part of work that polls itself.
template <class Body>
void each_long(std::int64_t count, const Body& body, std::int64_t grain = StopLooks::kWork) {
  for (std::int64_t begin = 0; begin < count; begin += grain) {
    if (begin > 0) look_at_stop();
    body(begin, std::min(count, begin + grain));
  }
}

/// `to` and `from` do not overlap.
inline void copy_long(void* to, const void* from, std::int64_t bytes) {
  each_long(
      bytes,
      [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, static_cast<std::size_t>(end - begin));
      },
      kLongCopy);
}

template <class T>
void fill_long(T* to, std::int64_t count, T value) {
  each_long(
      count, [&](std::int64_t begin, std::int64_t end) { std::fill(to + begin, to + end, value); },
      kLongCopy / static_cast<std::int64_t>(sizeof(T)));
}

}  // namespace cleave::runtime::host
