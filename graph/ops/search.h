// Binary search in a sorted vector.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

struct SearchOptions {
  bool right = false;  ///< insert behind equal elements, not before them; in models `side="right"`
};
/// The insertion index of each of `values` that keeps the sorted vector sorted: i32, of the shape of `values`. NaN sorts behind the
/// largest. The result for an unsorted vector is unspecified. Error `shape`: not a vector.
///   Tensor bin = searchsorted(edges, x, {.right = true}) - 1;
Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options = {}, Here here = Here::now());

}  // namespace cleave
