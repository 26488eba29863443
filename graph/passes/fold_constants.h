// Graph -> Graph: pure operations on constants become constants.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// No node moves, and none becomes larger than what it was made of. What fails when it is computed here is left to fail at run time, with
/// the user's line.
Graph fold_constants(Graph graph);

}  // namespace cleave
