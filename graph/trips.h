// Trip counts that the program states before it runs.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Whether each execution of the loop has at least one iteration: a `for` with a known count of 1 or more.
[[nodiscard]] inline bool has_trip(const Node& loop) {
  return loop.kind == NodeKind::for_loop && loop.inputs.empty() && loop.attributes.get_or<std::int64_t>("count", 0) > 0;
}

}  // namespace cleave
