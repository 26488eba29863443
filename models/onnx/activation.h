// Lowerings of activation functions, including softmax and others along an axis; and functions that operators of other domains have too.
#pragma once

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// The approximation of GELU `x / 2 * (1 + tanh(u))`, as `x * sigmoid(2 * u)`.
Part tanh_gelu(Call& c, const Part& x);

}  // namespace cleave::models::onnx
