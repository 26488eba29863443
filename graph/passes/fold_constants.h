// fold-constants: replaces pure operations on constants by constants.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// No node moves, and no constant becomes larger than its operands. An operation that fails when evaluated here is kept and fails at run
/// time, with the user's line.
Graph fold_constants(Graph graph);

}  // namespace cleave
