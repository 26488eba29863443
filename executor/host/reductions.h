// How rows are reduced: by the kernels of single reductions, and to the same bits by those of several steps. A result depends on the
// elements of its row and their number alone.
#pragma once

#include <optional>

#include "executor/host/simd/reducers.h"
#include "graph/attributes.h"
#include "graph/op.h"

namespace cleave::runtime::host {

/// An operand of which neighbouring axes are reduced: [outer, count, inner].
struct ReducedExtents {
  std::int64_t outer = 1, count = 1, inner = 1;
};
/// Nothing if the reduced axes are not neighbours.
std::optional<ReducedExtents> reduced_extents(const Shape& shape, const Attributes& attributes);

struct RowReduction {
  const Reducer* reducer = nullptr;  ///< null: it finds places
  const Finder* finder = nullptr;
  /// What becomes of `width` states of `count` elements each.
  void (*finish)(const std::byte* states, std::int64_t width, std::int64_t count, std::byte* out) = nullptr;
  std::int64_t element = 0, result = 0;  ///< bytes of one

  /// Elements of a row up to which it is one piece; more are taken in pieces of `piece_of(count)`, at most `kMostPieces`.
  static constexpr std::int64_t kPiece = 1 << 15, kMostPieces = 64;
  static std::int64_t piece_of(std::int64_t count);

  /// Rows of one piece, at least one element each where places are found.
  void rows(const std::byte* in, std::int64_t rows, std::int64_t count, std::byte* out) const;
};

/// Of an op on elements of a type, into elements of another. Nothing: it reduces nothing.
std::optional<RowReduction> row_reduction(const OpDef& op, DType element, DType result);

}  // namespace cleave::runtime::host
