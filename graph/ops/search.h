// Search in what is sorted.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

struct SearchOptions {
  bool right = false;  ///< behind equal elements, not before them; in models `side="right"`
};
/// Where each of `values` would have to stand in the sorted vector so that it stays sorted: i32, of the shape of `values`. NaN stands
/// behind the largest. What is found in a vector that is not sorted is not said. Error `shape`: not a vector.
///   Tensor bin = searchsorted(edges, x, {.right = true}) - 1;
Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options = {}, Here here = Here::now());

}  // namespace cleave
