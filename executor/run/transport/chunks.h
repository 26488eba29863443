// Chunks: how a large value is cut for copies that overlap with staging and with work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "executor/runtime.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime {

struct Chunks {
  std::int64_t size = 0;  ///< larger values are staged and copied in chunks of this many bytes

  /// The number of chunks of a value of `bytes`; at least one.
  [[nodiscard]] std::size_t count(std::int64_t bytes) const {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, (bytes + size - 1) / size));
  }
  /// The byte range of a chunk in its value.
  [[nodiscard]] Range range(std::size_t number, std::int64_t bytes) const {
    const std::int64_t offset = static_cast<std::int64_t>(number) * size;
    return {offset, std::min(size, bytes - offset)};
  }
};

}  // namespace cleave::runtime
