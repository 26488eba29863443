// simplify: runs all passes of the table. It may remove a transfer or round trip or make it rarer, but never adds one: a node changes its
// region only to run less often (hoist_invariant.h).
#pragma once

#include "graph/graph.h"

namespace cleave {

Graph simplify(const Graph& graph);

}  // namespace cleave
