// The functions of the tracing API that read and change arrays at computed places. As those of ops.h; an index is an integer Tensor, a
// negative one counts from the end, and one that does not exist is an Error of the run that names it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ops/ops.h"

namespace cleave {

/// The window of extents `sizes` that begins at `starts`: one scalar for each axis of x, or one vector of them. It must lie within x: one
/// that does not is an Error of the run, and is not moved to where it would. Error `shape`: too few starts, a window larger than x.
///   Tensor board = dynamic_slice(world, {row, column}, {3, 3});
Tensor dynamic_slice(const Tensor& x, const std::vector<Tensor>& starts, std::vector<std::int64_t> sizes, Here here = Here::now());
/// x with the elements of `update` in place of those from `starts` on. Axes that the update lacks in front are one long: a row goes into a
/// matrix. What is carried round a loop, updated, and not read otherwise is changed in place: a trip costs the update alone.
///   track = dynamic_update_slice(track, position, {i, 0});
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const std::vector<Tensor>& starts, Here here = Here::now());

/// One element of x for each index, along an axis (default: the last): what `argsort` gives leads back to the sorted elements. Along other
/// axes the extents agree, or are 1.
///   Tensor sorted = take_along_axis(x, argsort(x));
Tensor take_along_axis(const Tensor& x, const Tensor& indices, const AxisOptions& options = {}, Here here = Here::now());
/// What tuples of indices lead to: `indices` [.., k] of x give [.., x's axes behind the first k]. With `batch_dims` the first axes of x
/// and indices are walked side by side, and the tuples lead into what is behind them.
Tensor gather_nd(const Tensor& x, const Tensor& indices, std::int64_t batch_dims = 0, Here here = Here::now());

/// How updates meet what is there, and each other: take its place (the last one stays), or add, multiply, the larger, the smaller.
enum class Reduction : std::uint8_t { none, add, mul, max, min };
/// `scatter(x, i, u, {.axis = 1, .reduction = Reduction::add})`
struct ScatterOptions {
  int axis = 0;
  Reduction reduction = Reduction::none;
};
// x with updates at computed places. They are made in the order of the indices on every device: equal to the bit from run to run, whatever
// the number of threads. In place where x is not read again.
/// For each element of `updates`, which has the shape of `indices`: at its own place, but along the axis at its index.
Tensor scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const ScatterOptions& options = {}, Here here = Here::now());
/// Adds updates of the shape of `take(x, indices, {.axis})` where that would read (default: axis 0): counts, gradients of tables.
///   Tensor counts = scatter_add(zeros({10}), labels, ones({1000}));
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, const AxisOptions& options = {}, Here here = Here::now());
/// Updates of the shape of `gather_nd(x, indices)` go where that would read.
Tensor scatter_nd(const Tensor& x, const Tensor& indices, const Tensor& updates, Reduction reduction = Reduction::none,
                  Here here = Here::now());

}  // namespace cleave
