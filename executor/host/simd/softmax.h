// Softmax of floating-point numbers by vectors: exponentials in the elements' type (f16 and bf16: in f32), their sum in double.
#pragma once

#include <cstdint>

#include "executor/host/simd/level.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

struct SoftmaxLoops {
  /// Softmax over `count` contiguous elements, at least one.
  void (*row)(const std::byte* in, std::byte* out, std::int64_t count) = nullptr;
  /// Softmax over `count` rows, `stride` elements apart, for each of `width` columns, at most `kMostWidth`.
  void (*columns)(const std::byte* in, std::byte* out, std::int64_t count, std::int64_t width, std::int64_t stride) = nullptr;
  static constexpr std::int64_t kMostWidth = 128;
};

/// The loops for these elements; null: the level has none.
const SoftmaxLoops* softmax_loops(Level level, bool logarithm, DType element);

}  // namespace cleave::runtime::host
