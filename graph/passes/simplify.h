// Graph -> Graph: all passes of the table. May remove a transfer or round trip from the program, never adds or moves one: no node changes
// its region.
#pragma once

#include "graph/graph.h"

namespace cleave {

Graph simplify(const Graph& graph);

}  // namespace cleave
