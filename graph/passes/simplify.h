// Graph -> Graph: all passes of the table. May remove a transfer or round trip from the program, or make it rarer, never adds one: a node
// changes its region only to run less often (hoist_invariant.h).
#pragma once

#include "graph/graph.h"

namespace cleave {

Graph simplify(const Graph& graph);

}  // namespace cleave
