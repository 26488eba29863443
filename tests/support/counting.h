// Arrays whose elements count up.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>

#include "graph/array/array.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// An array of start, start + 1, ... in row-major order.
template <class T = std::int32_t>
Array counting(Shape shape, T start = 0) {
  Array array(TensorType{DTypeOf<T>::value, std::move(shape)});
  std::iota(array.mutable_data<T>(), array.mutable_data<T>() + array.size(), start);
  return array;
}

}  // namespace cleave::testing
