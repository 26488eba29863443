// How rows are reduced, by kernels of single reductions and, bit for bit the same, by fused kernels. A result depends only on the elements
// of its row and their number.
#pragma once

#include <optional>

#include "executor/host/simd/reducers.h"
#include "graph/attributes.h"
#include "graph/op.h"

namespace cleave::runtime::host {

/// The extents of an operand whose reduced axes are adjacent: [outer, count, inner].
struct ReducedExtents {
  std::int64_t outer = 1, count = 1, inner = 1;
};
/// Nothing if the reduced axes are not adjacent.
std::optional<ReducedExtents> reduced_extents(const Shape& shape, const Attributes& attributes);

struct RowReduction {
  const Reducer* reducer = nullptr;  ///< null: `finder` is set (argmax, argmin)
  const ExtremeFinder* finder = nullptr;
  /// Converts `width` states of `count` elements each into results.
  void (*finish)(const std::byte* states, std::int64_t width, std::int64_t count, std::byte* out) = nullptr;
  std::int64_t element = 0, result = 0;  ///< bytes of one operand element, and of one result element

  /// Rows up to kPiece elements are one piece; longer ones are divided into pieces of `piece_of(count)` elements, at most `kMostPieces`.
  static constexpr std::int64_t kPiece = 1 << 15, kMostPieces = 64;
  static std::int64_t piece_of(std::int64_t count);

  /// Reduces rows of one piece each; where positions are found, a row has at least one element.
  void rows(const std::byte* in, std::int64_t rows, std::int64_t count, std::byte* out) const;
};

/// The row reduction of an op with these element types; nothing if the op is not a reduction.
std::optional<RowReduction> row_reduction(const OpDef& op, DType element, DType result);

}  // namespace cleave::runtime::host
