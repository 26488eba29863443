// Running sums of f32 and f64 by vectors, in double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "executor/host/simd/level.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

/// Fills `count` neighbouring results, each the sum of `base` and the elements up to its own.
using RunningSums = void (*)(const std::byte* in, std::byte* out, std::int64_t count, double base);

/// Null: the level has none for these elements.
RunningSums running_sums(Level level, DType element);

}  // namespace cleave::runtime::host
