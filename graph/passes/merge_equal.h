// merge-equal: replaces uses of equal pure nodes by the first of them (common subexpression elimination).
#pragma once

#include "graph/graph.h"

namespace cleave {

/// The others stay as unused nodes until drop_dead.
Graph merge_equal(Graph graph);

}  // namespace cleave
