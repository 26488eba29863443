// Convolution: the parameters of a call of `conv`, derived from its types and attributes, for its reference implementation and the kernels.
#pragma once

#include "graph/ops/window.h"

namespace cleave::ops {

/// y[n, g, o, p] = bias[g, o] + the sum over c and the taps t of weight[g, o, c, t] * x[n, g, c, window p at t]
struct Convolution {
  std::int64_t batch = 0, groups = 1;
  std::int64_t channels = 0, outputs = 0;  ///< input and output channels per group
  Window window;

  [[nodiscard]] std::int64_t depth() const { return channels * window.taps(); }
};
/// Requires a call that the type rule accepts.
Convolution convolution_of(Types inputs, const Attributes& attributes);

}  // namespace cleave::ops
