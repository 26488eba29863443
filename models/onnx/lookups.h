// Tables from keys to values, of numbers.
#pragma once

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The value beside the key that equals an element of x, else `fallback`. Keys [n] have the type of x; of equal keys the
/// first counts. `values` [n] and `fallback` have one type. `nan`: NaN as a key stands for NaN.
Part look_up(Call& c, const Part& x, const Array& keys, const Part& values, const Part& fallback, bool nan = true);

}  // namespace cleave::models::onnx
