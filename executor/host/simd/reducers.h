// Reducers: loops that accumulate elements of one type into contiguous states. reduction.cpp divides the work; a reducer's result depends
// only on the elements and their number.
#pragma once

#include <cstdint>
#include <string_view>

#include "executor/host/simd/level.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

/// The loops of one reduction. A state is one accumulator of at most eight bytes.
struct Reducer {
  std::int64_t state_size = 0;
  void (*start)(std::byte* states, std::int64_t width) = nullptr;
  /// Accumulates `count` contiguous elements of each of `rows` consecutive rows into one state for each row.
  void (*take_lines)(const std::byte* in, std::int64_t rows, std::int64_t count, std::byte* states) = nullptr;
  /// Accumulates element j of each of `rows` rows, `stride` elements apart, into state j, for j < `width`.
  void (*take_rows)(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::byte* states) = nullptr;
  /// Joins `width` states of later elements into those of earlier ones.
  void (*join)(std::byte* states, const std::byte* later, std::int64_t width) = nullptr;

  void take_row(const std::byte* in, std::int64_t count, std::byte* state) const { take_lines(in, 1, count, state); }

  /// `take_row` block by block, so that callers that hold the elements in tiles of whole blocks get the same result.
  static constexpr std::int64_t kBlock = 2048;
  void take_blocks(const std::byte* in, std::int64_t element, std::int64_t count, std::byte* state) const {
    for (; count > kBlock; count -= kBlock, in += kBlock * element) take_row(in, kBlock, state);
    take_row(in, count, state);
  }
};

/// Finds the position of the first extreme element.
struct ExtremeFinder {
  /// Searches `count` contiguous elements, at least one.
  std::int64_t (*in_row)(const std::byte* in, std::int64_t count) = nullptr;
  /// Searches each of `rows` consecutive rows.
  void (*in_lines)(const std::byte* in, std::int64_t rows, std::int64_t count, std::int32_t* places) = nullptr;
  /// Searches each of `width` columns, at most `kMostWidth`.
  void (*in_columns)(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::int32_t* places) = nullptr;
  /// Whether the element at `b` beats the earlier one at `a`.
  bool (*beats)(const std::byte* b, const std::byte* a) = nullptr;
  std::int64_t least_line = 0;  ///< shorter lines are searched faster if they are transposed to columns
  static constexpr std::int64_t kMostWidth = 512;
};

/// The loops of sum, prod, any and all; of max and min; of argmax and argmin. Null: the level has none for these elements.
const Reducer* sum_reducer(Level level, std::string_view op, DType element);
const Reducer* extreme_reducer(Level level, std::string_view op, DType element);
const ExtremeFinder* finder(Level level, std::string_view op, DType element);

}  // namespace cleave::runtime::host
