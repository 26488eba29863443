// Loops, copies and fills of any length. A long one looks from part to part whether it is still wanted (graph/base/stop.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "graph/base/stop.h"

namespace cleave::runtime::host {

/// Bytes from one look to the next: long enough for the library's way with long copies, and a few milliseconds.
inline constexpr std::int64_t kLongCopy = 16 << 20;

/// As `each_with_looks`, but looks only between two parts: for what is mostly short, and part of work that looks itself.
template <class Body>
void each_long(std::int64_t count, const Body& body, std::int64_t grain = StopLooks::kWork) {
  for (std::int64_t begin = 0; begin < count; begin += grain) {
    if (begin > 0) look_at_stop();
    body(begin, std::min(count, begin + grain));
  }
}

/// The two do not overlap.
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
