// Views that attributes describe, for whoever copies them another way than the meanings do.
#pragma once

#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/ops/strided.h"

namespace cleave::ops {

/// How `slice`, of x with attributes that the type rule accepts, reads x along the axes of its result.
View slice_view(const TensorType& x, const Attributes& attributes);

}  // namespace cleave::ops
