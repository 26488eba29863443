// The functions of the tracing API that read and change arrays at computed places. Conventions are those of ops.h. An index is an integer
// Tensor; negative ones count from the end, and one out of range is a run-time Error that names it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ops/ops.h"

namespace cleave {

/// The window of extents `sizes` that begins at `starts`: one scalar for each axis of x, or one vector of them. It must be within x:
/// otherwise the run fails with an Error; the window is never clamped. Error `shape`: too few starts, a window larger than x.
///   Tensor board = dynamic_slice(world, {row, column}, {3, 3});
Tensor dynamic_slice(const Tensor& x, const std::vector<Tensor>& starts, std::vector<std::int64_t> sizes, Here here = Here::now());
/// x with the elements from `starts` on replaced by those of `update`. Axes that the update lacks in front are one long: a row goes into a
/// matrix. A loop-carried value that is updated and not read otherwise is updated in place, so that an iteration costs only the update.
///   track = dynamic_update_slice(track, position, {i, 0});
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const std::vector<Tensor>& starts, Here here = Here::now());

/// One element of x for each index, along an axis (default: the last): what `argsort` gives leads back to the sorted elements. Along other
/// axes the extents agree, or are 1.
///   Tensor sorted = take_along_axis(x, argsort(x));
Tensor take_along_axis(const Tensor& x, const Tensor& indices, const AxisOptions& options = {}, Here here = Here::now());
/// The parts of x that tuples of indices select: `indices` [.., k] of x give [.., x's axes behind the first k]. With `batch_dims`, the
/// first axes of x and indices are batch axes, and the tuples index the axes behind them.
Tensor gather_nd(const Tensor& x, const Tensor& indices, std::int64_t batch_dims = 0, Here here = Here::now());

/// How updates combine with existing elements and each other: replace (the last one wins), add, multiply, maximum, minimum.
enum class Reduction : std::uint8_t { none, add, mul, max, min };
/// `scatter(x, i, u, {.axis = 1, .reduction = Reduction::add})`
struct ScatterOptions {
  int axis = 0;
  Reduction reduction = Reduction::none;
};
// x with updates at computed places. Every device applies the updates in the order of the indices, so that results are bit-equal from run
// to run for any number of threads. Done in place if x is not read again.
/// For each element of `updates`, which has the shape of `indices`: at its own place, but along the axis at its index.
Tensor scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const ScatterOptions& options = {}, Here here = Here::now());
/// Adds updates of the shape of `take(x, indices, {.axis})` to the elements that it would read (default: axis 0): counts, gradients of
/// tables.
///   Tensor counts = scatter_add(zeros({10}), labels, ones({1000}));
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, const AxisOptions& options = {}, Here here = Here::now());
/// Applies updates of the shape of `gather_nd(x, indices)` to the elements that it would read.
Tensor scatter_nd(const Tensor& x, const Tensor& indices, const Tensor& updates, Reduction reduction = Reduction::none,
                  Here here = Here::now());

}  // namespace cleave
