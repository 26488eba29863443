// TileReader: an operand that does not lie as the result does (it broadcasts, or is a slice of what is there), read as the part of the
// result's elements that a tile holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::host {

/// Elements in a row in memory (step 1), or one element for all (step 0).
struct TileOperand {
  const std::byte* data = nullptr;
  std::int64_t step = 1;
};

class TileReader {
 public:
  /// Elements of so many bytes, so many apart along the axes of `to`.
  TileReader(std::int64_t size, const ops::Strides& strides, const Shape& to);

  /// Whether tiles ever have to be put together in `scratch`.
  [[nodiscard]] bool gathers() const { return count_ > 1 || !plain(); }
  /// Whether one element is all there is.
  [[nodiscard]] bool repeats() const { return count_ == 1 && step_[0] == 0; }
  /// Whether results read the elements in their order, as they lie.
  [[nodiscard]] bool in_order() const { return count_ == 1 && step_[0] == 1; }
  /// How many results in a row read what lies in a row, or one element: tiles that end where such a row does are read where they lie. 0: a
  /// tile of any length is, or none.
  [[nodiscard]] std::int64_t row() const { return count_ > 1 && plain() ? extent_[0] : 0; }
  [[nodiscard]] bool repeats_in_row() const { return step_[0] == 0; }
  /// The operand's elements for `count` results from `begin` on, where they lie or put together in `scratch`. `side_by_side`: there, too,
  /// where one element would do for all of them, unless that is all there is.
  TileOperand read(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch, bool side_by_side = false) const;

  /// Where a result's element is.
  struct Place {
    std::array<std::int64_t, ops::kMaxRank + 1> index;
    std::int64_t offset;  ///< in bytes, from the operand's first
  };
  [[nodiscard]] Place place(std::int64_t result) const;
  /// `count` results on, which end in the row in which they begin.
  void advance(Place& place, std::int64_t count) const {
    place.offset += count * step_[0] * size_;
    if ((place.index[0] += count) == extent_[0]) next_row(place);
  }

 private:
  void next_row(Place& place) const;
  /// The steps that loops are fast with.
  [[nodiscard]] bool plain() const { return step_[0] == 0 || step_[0] == 1; }
  void gather(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch) const;

  std::int64_t size_;      ///< of an element
  std::size_t count_ = 0;  ///< axes, innermost first; those that are walked as one are merged
  std::array<std::int64_t, ops::kMaxRank + 1> extent_{}, step_{};
};

}  // namespace cleave::runtime::host
