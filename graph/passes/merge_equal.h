// Graph -> Graph: of equal pure nodes the first is read in place of the others.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// The others stay, unread, for drop_dead.
Graph merge_equal(Graph graph);

}  // namespace cleave
