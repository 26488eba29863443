// ComputedPositions: the array offsets that computed indices select, in one form for all gather and scatter operations.
#pragma once

#include "graph/attributes.h"
#include "graph/base/stop.h"
#include "graph/ops/positions.h"
#include "graph/ops/rules.h"
#include "graph/ops/strided.h"

namespace cleave::ops {

/// Runs of `run` elements, one for each index of `shape`; that of index i is at sum i_k * fixed_k, and as many strides further along each
/// of the chosen axes as the index of that axis says. The indices for i stand side by side, from sum i_k * indices_k on. In the other array
/// (the result of a gather, the updates of a scatter) the runs are contiguous. Runs of two i that differ along an axis whose `fixed` is not
/// 0 are never the same.
struct ComputedPositions {
  std::int64_t run = 1;
  Shape shape;
  Strides fixed, indices;
  Shape extents;    ///< extents of the indexed axes
  Strides strides;  ///< strides of the indexed axes, in elements

  [[nodiscard]] std::int64_t count() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
  }
};

/// Requires a call of the family `scatter` that its type rule accepts.
ComputedPositions places_of(std::string_view op, Types inputs, const Attributes& attributes);

enum class Reduction : std::uint8_t { none, add, mul, max, min };
/// How a scatter combines an update with the existing element.
Reduction reduction_of(std::string_view op, const Attributes& attributes);
/// Applies one update. Without a reduction, the last update wins.
template <class C>
C reduced(Reduction reduction, C a, C b) {
  switch (reduction) {
    case Reduction::none: return b;
    case Reduction::add: return static_cast<C>(a + b);
    case Reduction::mul: return static_cast<C>(a * b);
    case Reduction::max: return a != a || a >= b ? a : b;
    case Reduction::min: return a != a || a <= b ? a : b;
  }
  return b;
}

/// The first index that is out of range.
template <class Index>
const Index* first_outside(const ComputedPositions& places, const Index* indices, std::int64_t count) {
  const std::size_t axes = places.extents.size();
  if (axes == 0) return nullptr;
  StopLooks looks;
  for (std::int64_t at = 0; at < count; at += static_cast<std::int64_t>(axes)) {
    looks.worked(static_cast<std::int64_t>(axes));
    for (std::size_t a = 0; a < axes; ++a) {
      const Index* index = indices + at + static_cast<std::int64_t>(a);
      if (place_of(to_position(*index), places.extents[a]) < 0) return index;
    }
  }
  return nullptr;
}

}  // namespace cleave::ops
