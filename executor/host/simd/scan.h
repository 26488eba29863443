// Running sums of f32 and f64 by vectors, accumulated in double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "executor/host/simd/level.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

/// Fills `count` contiguous results, each with the sum of `base` and the elements up to its own.
using RunningSums = void (*)(const std::byte* in, std::byte* out, std::int64_t count, double base);

/// The loop for these elements; null: the level has none.
RunningSums running_sums(Level level, DType element);

}  // namespace cleave::runtime::host
