// Lowerings of activation functions, including softmax and others along an axis; and functions that other families need.
#pragma once

#include <string>

#include "models/onnx/call.h"

namespace cleave::models::onnx {

/// An activation function by its name, for operators that apply one to their result: gates of recurrent networks, fused products.
struct Activation {
  std::string name;  ///< in lower case
  double alpha = 0, beta = 0, gamma = 0;
};

Part activated(Call& c, const Activation& activation, const Part& x);
/// The approximation of GELU `x / 2 * (1 + tanh(u))`, as `x * sigmoid(2 * u)`.
Part tanh_gelu(Call& c, const Part& x);
/// `x * sigmoid(alpha * x)`
Part swish(Call& c, const Part& x, double alpha);

}  // namespace cleave::models::onnx
