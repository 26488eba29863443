// Graph -> Graph: drops what neither an output nor an effect needs: nodes, carried values, loops and branches; renumbers the rest.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Inputs and parameters stay: they are the program's face.
Graph drop_dead(Graph graph);

}  // namespace cleave
