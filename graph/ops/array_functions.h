// Composite array functions: each is traced into operations, which fuse and are placed separately. Names and semantics are those of the
// Python array API or of NumPy. Errors are reported at the call: `shape` (no such axis, extents that do not fit), `value` (a number out of
// range), `type` (an element type that it does not take).
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

// --- triangles and diagonals of the last two axes
// -----------------------------------------------------------------------------------------
/// The elements on and below diagonal k (0 is the main one, 1 the one above it), the others zero; `triu`: on and above it.
Tensor tril(const Tensor& x, std::int64_t k = 0, Here here = Here::now());
Tensor triu(const Tensor& x, std::int64_t k = 0, Here here = Here::now());
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, Here here = Here::now());  ///< [.., n, m] -> [.., length]
/// The sum of the diagonal. In models it is called `trace`, a name that C++ uses for tracing a program.
Tensor matrix_trace(const Tensor& x, std::int64_t offset = 0, Here here = Here::now());

// --- places
// -------------------------------------------------------------------------------------------------------------------------------
/// Elements shifted cyclically along each axis by the given numbers of positions: `roll(x, {1}, 0)` puts the last row first. No axes: over
/// all elements in order.
Tensor roll(const Tensor& x, std::vector<std::int64_t> shift, Axes axis = {}, Here here = Here::now());
/// Moves axis `source` to position `destination`; the others keep their order: `moveaxis(x, 0, -1)`.
Tensor moveaxis(const Tensor& x, std::vector<std::int64_t> source, std::vector<std::int64_t> destination, Here here = Here::now());
/// `unstack`: the parts along an axis, without that axis. `split`: `sections` equal parts, which keep the axis.
std::vector<Tensor> unstack(const Tensor& x, int axis = 0, Here here = Here::now());
std::vector<Tensor> split(const Tensor& x, std::int64_t sections, int axis = 0, Here here = Here::now());
struct MeshgridOptions {
  bool matrix_indexing = false;  ///< the first vector along the first axis ("ij"), not along the second ("xy")
};
/// Coordinate tensors over all combinations of the vectors' elements.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, const MeshgridOptions& options = {}, Here here = Here::now());

// --- new Tensors
// --------------------------------------------------------------------------------------------------------------------------
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {}, Here here = Here::now());
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {}, Here here = Here::now());
Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype = {}, Here here = Here::now());
struct LinspaceOptions {
  bool endpoint = true;  ///< `stop` is the last number; else it is excluded
  DType dtype = DType::f32;
};
/// Evenly spaced numbers from start to stop: `linspace(0, 1, 5)`.
Tensor linspace(double start, double stop, std::int64_t num, const LinspaceOptions& options = {}, Here here = Here::now());

// --- sums and products
// --------------------------------------------------------------------------------------------------------------------
struct DiffOptions {
  std::int64_t n = 1;  ///< number of repetitions
  int axis = -1;
};
Tensor diff(const Tensor& x, const DiffOptions& options = {}, Here here = Here::now());  ///< each element less the one before it
/// log(sum(exp(x))) over the axes, without overflow.
Tensor logsumexp(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor count_nonzero(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());  ///< i32, or i64 of 2^31 elements
/// Products along an axis, summed: [.., n] and [.., n] -> [..].
Tensor vecdot(const Tensor& a, const Tensor& b, int axis = -1, Here here = Here::now());
Tensor outer(const Tensor& a, const Tensor& b, Here here = Here::now());  ///< [n] and [m] -> [n, m]
/// Products summed over the last `axes` axes of a and the first of b.
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t axes = 2, Here here = Here::now());
/// The same over these axes of a and those of b, pair by pair.
Tensor tensordot(const Tensor& a, const Tensor& b, std::vector<std::int64_t> a_axes, std::vector<std::int64_t> b_axes,
                 Here here = Here::now());
Tensor cross(const Tensor& a, const Tensor& b, int axis = -1,
             Here here = Here::now());  ///< cross product of 3-element vectors along the axis
struct VectorNormOptions {
  Axes axis = {};
  bool keepdims = false;
  double ord = 2;  ///< 1, 2, infinity or another power; 0 counts what is not zero
};
Tensor vector_norm(const Tensor& x, const VectorNormOptions& options = {}, Here here = Here::now());
/// Norms of matrices in the last two axes: "fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf".
Tensor matrix_norm(const Tensor& x, std::string ord = "fro", bool keepdims = false, Here here = Here::now());

}  // namespace cleave
