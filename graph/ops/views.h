// Strided views described by attributes, for kernels that copy them.
#pragma once

#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/ops/strided.h"

namespace cleave::ops {

/// The elements start, start + step, … (count of them) along one axis.
struct SlicedAxis {
  std::int64_t start = 0, step = 1, count = 0;
};
/// What `slice` reads of each axis of x. The attributes must be accepted by the type rule.
std::vector<SlicedAxis> sliced_axes(const TensorType& x, const Attributes& attributes);

/// Offset and strides by which `slice` reads x along the axes of its result. The attributes must be accepted by the type rule.
View slice_view(const TensorType& x, const Attributes& attributes);

}  // namespace cleave::ops
