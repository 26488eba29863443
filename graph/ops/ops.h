// The functions of the tracing API, one per operation. Names and semantics follow the Python array API standard where it has them. Each
// function records one operation with the caller's location and returns its result. A mistake is reported once, at that location, with the
// types involved: kind `type` (element types or numbers of operands), `shape` (shapes that do not fit), `value` (an axis or number out of
// range). The result is then void, and no further mistake is reported for values computed from it. Numbers are accepted in place of
// Tensors: `maximum(x, 0)`. Operators are in graph/trace/tensor.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/array/array.h"
#include "graph/trace/tensor.h"

namespace cleave {

/// Axes of a Tensor: one, several (`{0, 2}`), or none, which selects all. Negative axes count from the end.
struct Axes {
  Axes() = default;
  Axes(int axis) : list(std::vector<std::int64_t>{axis}) {}
  Axes(std::initializer_list<int> axes) : list(std::vector<std::int64_t>(axes.begin(), axes.end())) {}
  std::optional<std::vector<std::int64_t>> list;
};

/// `sum(x, {.axis = 0, .keepdims = true})`
struct ReduceOptions {
  Axes axis = {};
  bool keepdims = false;  ///< reduced axes stay, with extent 1
};
/// `softmax(x, {.axis = -1})`; each function documents its default axis.
struct AxisOptions {
  std::optional<int> axis = {};
};
/// A number as an attribute, stored as integer, floating-point number or bool as given.
struct Number {
  template <class T>
  requires std::is_arithmetic_v<T> Number(T number) : literal(make_literal(number)) {}
  Literal literal;
};
/// `cumulative_sum(x, {.axis = 0, .reverse = true})`
struct CumulativeOptions {
  std::optional<int> axis = {};
  bool exclusive = false;  ///< sums only the preceding elements, not the element itself
  bool reverse = false;    ///< sums from the end of the axis
};
struct ArangeOptions {
  std::optional<Number> step = {};
  std::optional<DType> dtype = {};
};
struct CreateOptions {
  DType dtype = DType::f32;
};
struct PadOptions {
  double value = 0;  ///< value of the new elements
};
/// Random numbers are counter-based: the same seed and step give the same numbers, on every device.
struct RandomOptions {
  std::int64_t seed = 0;
  std::optional<Tensor> step = {};  ///< an integer scalar such as a loop counter; each value gives different numbers
  DType dtype = DType::f32;
};

// --- element by element, one operand: the result has its shape -------------------------------------------------------------------------
// Any numeric type: negative, abs, sign, square (wrapping for integers). The others compute in floating point; integers give f32.
//   Tensor y = sqrt(square(a) + square(b));
Tensor negative(const Tensor& x, Here here = Here::now());
Tensor abs(const Tensor& x, Here here = Here::now());
Tensor sign(const Tensor& x, Here here = Here::now());
Tensor square(const Tensor& x, Here here = Here::now());
Tensor exp(const Tensor& x, Here here = Here::now());
Tensor expm1(const Tensor& x, Here here = Here::now());
Tensor log(const Tensor& x, Here here = Here::now());
Tensor log1p(const Tensor& x, Here here = Here::now());
Tensor log2(const Tensor& x, Here here = Here::now());
Tensor sqrt(const Tensor& x, Here here = Here::now());
Tensor rsqrt(const Tensor& x, Here here = Here::now());       ///< 1 / sqrt(x)
Tensor reciprocal(const Tensor& x, Here here = Here::now());  ///< 1 / x
Tensor sin(const Tensor& x, Here here = Here::now());
Tensor cos(const Tensor& x, Here here = Here::now());
Tensor tan(const Tensor& x, Here here = Here::now());
Tensor asin(const Tensor& x, Here here = Here::now());
Tensor acos(const Tensor& x, Here here = Here::now());
Tensor atan(const Tensor& x, Here here = Here::now());
Tensor sinh(const Tensor& x, Here here = Here::now());
Tensor cosh(const Tensor& x, Here here = Here::now());
Tensor tanh(const Tensor& x, Here here = Here::now());
Tensor erf(const Tensor& x, Here here = Here::now());
Tensor sigmoid(const Tensor& x, Here here = Here::now());  ///< 1 / (1 + exp(-x))
Tensor relu(const Tensor& x, Here here = Here::now());     ///< maximum(x, 0)
Tensor gelu(const Tensor& x, Here here = Here::now());     ///< x * (1 + erf(x / sqrt(2))) / 2
Tensor floor(const Tensor& x, Here here = Here::now());
Tensor ceil(const Tensor& x, Here here = Here::now());
Tensor round(const Tensor& x, Here here = Here::now());  ///< halves to even
Tensor trunc(const Tensor& x, Here here = Here::now());
Tensor isnan(const Tensor& x, Here here = Here::now());  ///< bool, like the next two
Tensor isfinite(const Tensor& x, Here here = Here::now());
Tensor isinf(const Tensor& x, Here here = Here::now());
Tensor logical_not(const Tensor& x, Here here = Here::now());
Tensor bitwise_invert(const Tensor& x, Here here = Here::now());
/// Converts: floating point to integers towards zero (too large: the nearest end; NaN: 0), wide to narrow integers by wrapping.
Tensor astype(const Tensor& x, DType dtype, Here here = Here::now());

// --- element by element, two or three operands: shapes broadcast as in NumPy, mixed types are promoted -----------------------------------
//   Tensor bounded = clip(x, -1, 1), larger = where(a > b, a, b);
Tensor add(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor subtract(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor multiply(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor divide(const Tensor& a, const Tensor& b, Here here = Here::now());        ///< true division; integers give f32
Tensor floor_divide(const Tensor& a, const Tensor& b, Here here = Here::now());  ///< rounded down, as in Python
Tensor remainder(const Tensor& a, const Tensor& b, Here here = Here::now());     ///< has the sign of `b`
Tensor pow(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor minimum(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor maximum(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor atan2(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor equal(const Tensor& a, const Tensor& b, Here here = Here::now());  ///< bool, as the other comparisons
Tensor not_equal(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor less(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor less_equal(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor greater(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor greater_equal(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor logical_and(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor logical_or(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor logical_xor(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor bitwise_and(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor bitwise_or(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor bitwise_xor(const Tensor& a, const Tensor& b, Here here = Here::now());
Tensor clip(const Tensor& x, const Tensor& min, const Tensor& max, Here here = Here::now());
/// `a` where the condition (bool) holds, else `b`.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Here here = Here::now());

// --- products and reductions ---------------------------------------------------------------------------------------------------------
/// [.., n, k] x [.., k, m] -> [.., n, m]; leading axes broadcast; a vector stands for a row or column. Error `shape`: inner extents differ.
///   Tensor y = matmul(x, w) + b;
Tensor matmul(const Tensor& a, const Tensor& b, Here here = Here::now());

// Reductions over the given axes, default all: [4, 3] with {.axis = 0} -> [3], {.axis = 0, .keepdims = true} -> [1, 3], {} -> []. Error
// `value`: no such axis; `shape`: max, min, argmax, argmin over no elements. sum and prod of bool and of integers of 8 and 16 bits give i32
// (sum: i64 if the sum can exceed i32), mean of integers f32, any and all bool, argmax and argmin the i32 index of the first. Integers
// wrap.
//   Tensor loss = mean(square(errors)), per_row = sum(x, {.axis = -1});
Tensor sum(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor mean(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor prod(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor max(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor min(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor any(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor all(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor argmax(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
Tensor argmin(const Tensor& x, const ReduceOptions& options = {}, Here here = Here::now());
/// Running sum along an axis (needed unless x has exactly one), of the same shape.
Tensor cumulative_sum(const Tensor& x, const CumulativeOptions& options = {}, Here here = Here::now());
Tensor cumulative_prod(const Tensor& x, const CumulativeOptions& options = {}, Here here = Here::now());  ///< running product
/// exp(x) / sum(exp(x)) along an axis (default: the last), computed without overflow. Same shape.
Tensor softmax(const Tensor& x, const AxisOptions& options = {}, Here here = Here::now());
Tensor log_softmax(const Tensor& x, const AxisOptions& options = {}, Here here = Here::now());

/// Reinterprets the bits as another element type: of equal size, of a smaller size (adds a last axis), or of a larger size (removes the
/// last axis). Error `type`: bool; `shape`: the last axis has the wrong number of elements for one larger element.
///   Tensor bits = bitcast(x, DType::i32);
Tensor bitcast(const Tensor& x, DType dtype, Here here = Here::now());

// --- shapes ----------------------------------------------------------------------------------------------------------------------------
Tensor transpose(const Tensor& x, Here here = Here::now());  ///< the last two axes exchanged: [.., n, m] -> [.., m, n]
/// Axis i of the result is axis axes[i] of x: `permute_dims(x, {2, 0, 1})`.
Tensor permute_dims(const Tensor& x, std::vector<std::int64_t> axes, Here here = Here::now());
/// The same elements in row-major order; one extent may be -1: `reshape(x, {-1, 3})`. Error `shape`: the number of elements differs.
Tensor reshape(const Tensor& x, Shape shape, Here here = Here::now());
Tensor expand_dims(const Tensor& x, int axis = 0, Here here = Here::now());  ///< a new axis of extent 1 before `axis`
Tensor squeeze(const Tensor& x, Axes axis, Here here = Here::now());         ///< removes these axes, which must have extent 1
Tensor broadcast_to(const Tensor& x, Shape shape, Here here = Here::now());
Tensor flip(const Tensor& x, Axes axis = {}, Here here = Here::now());
/// Concatenation along an axis; the other extents must agree. `concat({a, b}, {.axis = 1})`; default: axis 0.
Tensor concat(const std::vector<Tensor>& arrays, const AxisOptions& options = {}, Here here = Here::now());
/// Joins tensors of equal shape along a new axis. Default: axis 0.
Tensor stack(const std::vector<Tensor>& arrays, const AxisOptions& options = {}, Here here = Here::now());
/// Adds elements around x: `pad(x, {{1, 1}, {0, 2}})` adds a row before and behind, and two columns behind.
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& before_after, const PadOptions& options = {},
           Here here = Here::now());
Tensor repeat(const Tensor& x, std::int64_t repeats, const AxisOptions& options = {}, Here here = Here::now());
Tensor tile(const Tensor& x, std::vector<std::int64_t> repetitions, Here here = Here::now());

// --- indexing --------------------------------------------------------------------------------------------------------------------------
/// `slice(x, {{0, 10}, all_of_axis, 3})` is `x[0:10, :, 3]`: ranges keep their axis, an index removes it. Error `value`: index out of
/// range.
Tensor slice(const Tensor& x, std::initializer_list<Pick> picks, Here here = Here::now());
/// The parts of x at integer `indices` along an axis (needed unless x has exactly one). An index out of range is an Error at run time.
Tensor take(const Tensor& x, const Tensor& indices, const AxisOptions& options = {}, Here here = Here::now());
/// [..] of integers -> [.., depth]: 1 at the index, else 0 (all 0 for an index outside).
Tensor one_hot(const Tensor& indices, std::int64_t depth, const CreateOptions& options = {}, Here here = Here::now());

// --- new Tensors -----------------------------------------------------------------------------------------------------------------------
/// A vector of start, start + step, .. before stop: `arange(10)`, `arange(0, 1, {.step = 0.25})`. i32 if all are whole numbers, else f32.
Tensor arange(Number stop, const ArangeOptions& options = {}, Here here = Here::now());
Tensor arange(Number start, Number stop, const ArangeOptions& options = {}, Here here = Here::now());
Tensor zeros(Shape shape, const CreateOptions& options = {}, Here here = Here::now());
Tensor ones(Shape shape, const CreateOptions& options = {}, Here here = Here::now());
/// Every element `value`; its type is that of the number (i32, f32 or bool) unless `dtype` says otherwise.
Tensor full(Shape shape, Number value, std::optional<DType> dtype = {}, Here here = Here::now());
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, const CreateOptions& options = {}, Here here = Here::now());
/// Uniform on [low, high): `random_uniform({4}, -1, 1, {.seed = 7, .step = i})`.
Tensor random_uniform(Shape shape, double low = 0, double high = 1, const RandomOptions& options = {}, Here here = Here::now());
Tensor random_normal(Shape shape, double mean = 0, double deviation = 1, const RandomOptions& options = {}, Here here = Here::now());

// --- order: NaN is greater than every number, equal elements keep their order --------------------------------------------------------
struct SortOptions {
  int axis = -1;
  bool descending = false;
};
Tensor sort(const Tensor& x, const SortOptions& options = {}, Here here = Here::now());
Tensor argsort(const Tensor& x, const SortOptions& options = {}, Here here = Here::now());  ///< i32 indices
struct TopK {
  Tensor values, indices;  ///< [.., k] each; i32 indices
};
/// The k largest along the last axis, largest first: `auto [values, indices] = top_k(x, 5);`
TopK top_k(const Tensor& x, std::int64_t k, Here here = Here::now());
struct Unique {
  Tensor values, count;  ///< as many values as x has elements, the rest filled with the last one; an i32 scalar
};
/// The distinct elements in order, NaN behind the largest: `auto [values, count] = unique(x);` Zeros of either sign are equal, and no two
/// NaN are, so that each one is listed.
Unique unique(const Tensor& x, Here here = Here::now());

// --- effects and transfers -------------------------------------------------------------------------------------------------------------
/// Writes one line `label: values` each time it is executed.
void print(std::string label, const Tensor& x, Here here = Here::now());
/// Logs a number each time it is executed: a scalar of any numeric type, under a label. Its value only leaves: the accelerator never
/// waits. RunOptions::on_log receives it. `log(x)` is the logarithm.
void log(std::string label, const Tensor& x, Here here = Here::now());
/// Writes a .npy file.
void write_npy(std::string path, const Tensor& x, Here here = Here::now());
template <std::same_as<Tensor> T>
void write_npy(const T&, const std::string&) {
  static_assert(!sizeof(T), "the path comes first: write_npy(\"x.npy\", x)");
}
/// Identity that marks the transfer to the host (the accelerator) as intended, which silences the warning.
Tensor to_host(const Tensor& x, Here here = Here::now());
Tensor to_accelerator(const Tensor& x, Here here = Here::now());

}  // namespace cleave
