// Gradients of convolutions and pools: of which convolution, or over which windows, a call is, for its reference implementation and the
// kernels. All require calls that the type rules accept.
#pragma once

#include "graph/ops/convolution.h"
#include "graph/ops/pooling.h"

namespace cleave::ops {

/// Operands (gradient, weight).
Convolution convolution_of_input_gradient(Types inputs, const Attributes& attributes);
/// Operands (x, gradient).
Convolution convolution_of_weight_gradient(Types inputs, const Attributes& attributes);
/// The operand x of the `avg_pool` with this gradient.
TensorType averaged_type(const TensorType& gradient, const Attributes& attributes);

}  // namespace cleave::ops
