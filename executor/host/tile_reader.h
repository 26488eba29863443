// TileReader: an operand of another shape than the result's, read as the part of the result's elements that a tile holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "executor/runtime.h"
#include "graph/array/tensor_type.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::host {

/// Elements in a row in memory (step 1), or one element for all (step 0).
struct TileOperand {
  const std::byte* data = nullptr;
  std::int64_t step = 1;
};

class TileReader {
 public:
  /// `from` broadcasts to `to`.
  TileReader(const TensorType& from, const Shape& to);

  /// Whether tiles ever have to be put together in `scratch`.
  [[nodiscard]] bool gathers() const { return count_ > 1; }
  /// Whether one element is all there is.
  [[nodiscard]] bool repeats() const { return count_ == 1 && step_[0] == 0; }
  /// The operand's elements for `count` results from `begin` on, where they lie or put together in `scratch`. `side_by_side`: there, too,
  /// where one element would do for all of them, unless that is all there is.
  TileOperand read(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch, bool side_by_side = false) const;

 private:
  void gather(const std::byte* data, std::int64_t begin, std::int64_t count, std::byte* scratch) const;

  std::int64_t size_;      ///< of an element
  std::size_t count_ = 0;  ///< axes, innermost first; those that are walked as one are merged
  std::array<std::int64_t, ops::kMaxRank + 1> extent_{}, step_{};
};

}  // namespace cleave::runtime::host
