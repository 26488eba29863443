// TileReader: reads an operand whose layout differs from the result's (it broadcasts, or is a slice), for the range of the result's
// elements that a tile holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::runtime::host {

/// Contiguous elements (step 1), or one element for all results (step 0).
struct TileOperand {
  const std::byte* data = nullptr;
  std::int64_t step = 1;
};

class TileReader {
 public:
  /// `size`: bytes of an element; `strides`: in elements, along the axes of `to`.
  TileReader(std::int64_t size, const ops::Strides& strides, const Shape& to);

  /// Whether some tiles must be assembled in `scratch`.
  [[nodiscard]] bool gathers() const { return count_ > 1 || !plain(); }
  /// Whether the operand is a single element.
  [[nodiscard]] bool repeats() const { return count_ == 1 && step_[0] == 0; }
  /// Whether the operand is contiguous, in the result's order.
  [[nodiscard]] bool in_order() const { return count_ == 1 && step_[0] == 1; }
  /// The number of consecutive results that read contiguous elements, or a single one; a tile that ends at a multiple of it is read in
  /// place. 0: tiles of any length are read in place, or none is.
  [[nodiscard]] std::int64_t row() const { return count_ > 1 && plain() ? extent_[0] : 0; }
  [[nodiscard]] bool repeats_in_row() const { return step_[0] == 0; }
  /// The operand's elements for `count` results from `begin` on, in place or assembled in `scratch`. `side_by_side`: also assembled if one
  /// element would serve all of them, unless the whole operand is that element.
  TileOperand read(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch, bool side_by_side = false) const;

  /// The position of a result's element in the operand.
  struct OperandPosition {
    std::array<std::int64_t, ops::kMaxRank + 1> index;
    std::int64_t offset;  ///< in bytes, from the operand's first element
  };
  [[nodiscard]] OperandPosition place(std::int64_t result) const;
  /// Advances by `count` results, which must not pass the end of the current row.
  void advance(OperandPosition& place, std::int64_t count) const {
    place.offset += count * step_[0] * size_;
    if ((place.index[0] += count) == extent_[0]) next_row(place);
  }

 private:
  void next_row(OperandPosition& place) const;
  /// Whether the innermost step is 0 or 1, for which loops are fast.
  [[nodiscard]] bool plain() const { return step_[0] == 0 || step_[0] == 1; }
  void gather(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch) const;

  std::int64_t size_;      ///< bytes of an element
  std::size_t count_ = 0;  ///< number of axes, innermost first, after merging
  std::array<std::int64_t, ops::kMaxRank + 1> extent_{}, step_{};
};

}  // namespace cleave::runtime::host
