// An array all of whose elements are one number.
#pragma once

#include <algorithm>

#include "graph/array/array.h"
#include "graph/ops/convert.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

inline Array filled(DType dtype, Shape shape, double number) {
  Array array(TensorType{dtype, std::move(shape)});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(array.mutable_data<T>(), array.size(), ops::convert<T>(number));
  });
  return array;
}

}  // namespace cleave::testing
