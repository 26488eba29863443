// Reducers: how one reduction takes in elements of one type, as loops on states that lie side by side. What is split where is
// reduction.cpp's to say; a reducer's result depends on nothing but the elements and their number.
#pragma once

#include <cstdint>
#include <string_view>

#include "executor/host/simd/level.h"
#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

/// A state is one accumulator, of at most eight bytes.
struct Reducer {
  std::int64_t state_size = 0;
  void (*start)(std::byte* states, std::int64_t width) = nullptr;
  /// Takes `count` neighbouring elements of each of `rows` rows, one behind the other, into a state each.
  void (*take_lines)(const std::byte* in, std::int64_t rows, std::int64_t count, std::byte* states) = nullptr;
  /// Takes element j of each of `rows` rows, `stride` elements apart, into state j, for all of `width`.
  void (*take_rows)(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::byte* states) = nullptr;
  /// Takes `width` states of later elements into those of earlier ones.
  void (*join)(std::byte* states, const std::byte* later, std::int64_t width) = nullptr;

  void take_row(const std::byte* in, std::int64_t count, std::byte* state) const { take_lines(in, 1, count, state); }

  /// `take_row` block by block, so that who has the elements in tiles of whole blocks comes to the same.
  static constexpr std::int64_t kBlock = 2048;
  void take_blocks(const std::byte* in, std::int64_t element, std::int64_t count, std::byte* state) const {
    for (; count > kBlock; count -= kBlock, in += kBlock * element) take_row(in, kBlock, state);
    take_row(in, count, state);
  }
};

/// Where the first extreme element is.
struct Finder {
  /// Of `count` neighbouring elements, at least one.
  std::int64_t (*in_row)(const std::byte* in, std::int64_t count) = nullptr;
  /// The same in each of `rows` rows, one behind the other.
  void (*in_lines)(const std::byte* in, std::int64_t rows, std::int64_t count, std::int32_t* places) = nullptr;
  /// Of each of `width` columns, at most `kMostWidth`.
  void (*in_columns)(const std::byte* in, std::int64_t rows, std::int64_t width, std::int64_t stride, std::int32_t* places) = nullptr;
  /// Whether the element at `b` beats the earlier one at `a`.
  bool (*beats)(const std::byte* b, const std::byte* a) = nullptr;
  std::int64_t least_line = 0;  ///< of fewer elements, lines are sooner turned into columns and searched side by side
  static constexpr std::int64_t kMostWidth = 512;
};

/// Of sum, prod, any and all; of max and min; of argmax and argmin. Null: the level has none for these elements.
const Reducer* sum_reducer(Level level, std::string_view op, DType element);
const Reducer* extreme_reducer(Level level, std::string_view op, DType element);
const Finder* finder(Level level, std::string_view op, DType element);

}  // namespace cleave::runtime::host
