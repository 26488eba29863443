// Accumulator and result types of sums, shared by reductions and running sums, here and in kernels.
#pragma once

#include <limits>

#include "graph/base/check.h"
#include "graph/ops/rules.h"
#include "graph/ops/wrapping.h"

namespace cleave::ops {

/// The accumulator type of a sum: double for floating types, wrapping i64 for the others.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, Wrapping<std::int64_t>, double>;

/// Number of elements of each sum over the marked axes.
inline std::int64_t marked_elements(const Shape& shape, const AxisMarks& marked) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) count *= marked[axis] ? shape[axis] : 1;
  return count;
}

/// Whether sums and products of this element type have a wider type: true for bool and integers of 8 and 16 bits.
template <class T>
inline constexpr bool kIsSmallInteger = std::is_integral_v<T> && sizeof(T) < 4;
/// The largest magnitude of a small integer type; 0 for other types.
inline std::int64_t largest_magnitude(DType type) {
  return dispatch(type, [](auto zero) -> std::int64_t {
    using T = decltype(zero);
    if constexpr (!kIsSmallInteger<T>) {
      return 0;
    } else if constexpr (std::is_signed_v<T>) {
      return std::int64_t{1} << (8 * sizeof(T) - 1);
    } else {
      return static_cast<std::int64_t>(std::numeric_limits<T>::max());
    }
  });
}

/// The element type of a sum of `count` elements. Small integers give i32, or i64 if the sum can exceed i32.
inline DType sum_dtype(DType type, std::int64_t count) {
  const std::int64_t largest = largest_magnitude(type);
  if (largest == 0) return type;
  return count > std::numeric_limits<std::int32_t>::max() / largest ? DType::i64 : DType::i32;
}
/// The same for a sum of `count` products of two elements.
inline DType dot_dtype(DType type, std::int64_t count) {
  const std::int64_t largest = largest_magnitude(type);
  if (largest == 0) return type;
  return count > std::numeric_limits<std::int32_t>::max() / (largest * largest) ? DType::i64 : DType::i32;
}
/// The element type of a product of any number of elements: that of small integers wraps in i32.
inline DType product_dtype(DType type) {
  return sum_dtype(type, 1);
}
/// Calls `body` with a zero of the type that sums of T have in `result`.
template <class T, class Body>
decltype(auto) dispatch_sum(DType result, Body&& body) {
  if constexpr (kIsSmallInteger<T>) {
    return result == DType::i64 ? body(std::int64_t{0}) : body(std::int32_t{0});
  } else {
    CLEAVE_CHECK(result == DTypeOf<T>::value, "a sum of another type than its elements");
    return body(T{});
  }
}

template <class T>
Accumulator<T> widen(T element) {
  if constexpr (std::is_integral_v<T>) {
    return Accumulator<T>(element);
  } else {
    return static_cast<double>(load(element));
  }
}

}  // namespace cleave::ops
