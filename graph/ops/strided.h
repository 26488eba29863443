// Strided copies and iteration: every shape op copies a strided view of its operand.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/array/array.h"

namespace cleave::ops {

using Strides = std::vector<std::int64_t>;  ///< in elements; one per axis

/// Strides by which an operand of shape `from` is read as one of shape `to` (0 along broadcast axes).
Strides broadcast_strides(const Shape& from, const Shape& to);

/// Calls `row(offsets, count, steps)` for each run along the last axis of `shape`, or for parts of a long run, in row-major order: operand
/// k's elements are at offsets[k] + i * steps[k] for i < count. Polls for cancellation (graph/base/stop.h).
using Row = std::function<void(std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps)>;
void walk(const Shape& shape, std::span<const Strides> operands, const Row& row);

/// target[target_offset + sum i_k * target_strides_k] = source[source_offset + sum i_k * source_strides_k] for each index of `shape`.
struct View {
  std::int64_t offset = 0;
  Strides strides;
};
void copy(const Shape& shape, const Array& source, const View& from, Array& target, const View& to);
/// The whole target is filled, row-major.
void copy(const Array& source, const View& from, Array& target);

}  // namespace cleave::ops
