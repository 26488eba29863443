// Where the user wants an operation: `place`, and the marks to_host() and to_accelerator(), which are where they move to.
#pragma once

#include "graph/graph.h"

namespace cleave::planner {

/// Side::none: anywhere.
Side wanted_side(const Node& node);
/// Whether anything is wanted on the accelerator; `--placement host` leaves that aside.
bool wants_accelerator(const Graph& graph);

}  // namespace cleave::planner
