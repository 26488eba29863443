// Range: the numbers that an element type can represent, for messages about values out of range.
#pragma once

#include <string>

#include "graph/array/tensor_type.h"

namespace cleave {

/// Whether a finite number would become infinite, or is outside of an integer type's range.
[[nodiscard]] bool out_of_range(double value, DType dtype);
/// Whether `dtype` does not hold the integer; floating types hold it rounded.
[[nodiscard]] bool out_of_range(std::int64_t value, DType dtype);
/// Whether `dtype` holds the number: integer types hold whole numbers between their ends and bool 0 and 1; floating types hold it rounded,
/// and NaN and the infinities.
[[nodiscard]] bool holds(DType dtype, double value);
/// "f32 holds -3.4028235e+38 to 3.4028235e+38", "u8 holds 0 to 255".
[[nodiscard]] std::string range_text(DType dtype);

}  // namespace cleave
