// Strided views described by attributes, for kernels that copy them.
#pragma once

#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/ops/strided.h"

namespace cleave::ops {

/// Offset and strides by which `slice` reads x along the axes of its result. The attributes must be accepted by the type rule.
View slice_view(const TensorType& x, const Attributes& attributes);

}  // namespace cleave::ops
