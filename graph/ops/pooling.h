// Pools: the windows of a call of `max_pool` or `avg_pool`, for its meaning and for the kernels.
#pragma once

#include "graph/ops/window.h"

namespace cleave::ops {

/// Of a call that the type rule takes.
Window pool_window(const TensorType& x, const Attributes& attributes);

/// The taps of a window of one axis that lie inside of x, or with `padding` of x with its padding.
struct Taps {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};
Taps taps_inside(const WindowAxis& axis, std::int64_t window, bool padding);

}  // namespace cleave::ops
