// Graph -> Graph: drops what nothing needs (dead nodes, dead carried values), merges equal pure nodes, folds constants.
// May remove a transfer or round trip from the program, never adds or moves one: no node changes its region.
#pragma once

#include "graph/graph.h"

namespace cleave {

Graph simplify(const Graph& graph);

}  // namespace cleave
