// Data of random programs: arrays of every element type, with moderate numbers or with special values that reveal mistakes.
#pragma once

#include "graph/array/array.h"
#include "tests/random/draw.h"

namespace cleave::testing {

/// The range of an array's floating elements. Integers are of moderate size, or wild where floating elements would be wild.
enum class Data : std::uint8_t {
  clean,     ///< numbers from -8 to 8, -0.0 and denormals among them
  moderate,  ///< these, NaN and infinities
  wild,      ///< these and numbers near the ends of the type
};

Array random_array(Draw& draw, const TensorType& type, Data data);
/// Integers from -extent (unsigned types: 0) to extent - 1: the valid indices of an axis.
Array random_indices(Draw& draw, const TensorType& type, std::int64_t extent);

}  // namespace cleave::testing
