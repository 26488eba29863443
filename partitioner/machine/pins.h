// wanted_side(): the side on which the user wants an operation, by `place` or by the marks to_host() and to_accelerator(), which stand on
// the side to which they move.
#pragma once

#include "graph/graph.h"

namespace cleave::planner {

/// Side::none: anywhere.
Side wanted_side(const Node& node);
/// Whether the user wants anything on the accelerator; `--placement host` ignores that.
bool wants_accelerator(const Graph& graph);

}  // namespace cleave::planner
