// What sums are of: the type they are taken in, and the type they are given in. Shared by reductions and running sums, here and in kernels.
#pragma once

#include "graph/ops/wrapping.h"

namespace cleave::ops {

/// What a sum accumulates in: double for floating types, wrapping i64 for the others.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, Wrapping<std::int64_t>, double>;

/// The elements of a sum's result: bool and integers of 8 and 16 bits give i32.
template <class T>
using SumOf = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, std::int32_t, T>;
inline DType sum_dtype(DType type) {
  return dispatch(type, [](auto zero) { return DTypeOf<SumOf<decltype(zero)>>::value; });
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
