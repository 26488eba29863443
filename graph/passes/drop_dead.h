// drop-dead: removes nodes, carried values, loops and branches that neither an output nor an effect needs (dead code elimination), and
// renumbers the rest.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Inputs and parameters are kept, since they are the program's interface.
Graph drop_dead(Graph graph);

}  // namespace cleave
