// Graph -> Graph: initial values of loops that no iteration reads, and that are not the final ones, become zeros.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// A `for` loop with at least one iteration, which assigns a name and does not read what it was before, begins with zeros there. What
/// computed the old value is then dropped as dead (drop_dead.h), and no transfer brings it to the loop. Literals stay.
Graph replace_overwritten(Graph graph);

}  // namespace cleave
