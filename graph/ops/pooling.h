// Pools: the windows of a call of `max_pool` or `avg_pool`, for its reference implementation and the kernels.
#pragma once

#include "graph/ops/window.h"

namespace cleave::ops {

/// Requires a call that the type rule accepts.
Window pool_window(const TensorType& x, const Attributes& attributes);

/// The taps of a window along one axis that are inside x (with `padding`: inside the padded x).
struct Taps {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};
Taps taps_inside(const WindowAxis& axis, std::int64_t window, bool padding);

}  // namespace cleave::ops
