// sink: the way back from hoist-invariant, for operations that cost less beside their readers in a loop. Moves what it is told to.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace cleave {

/// An operation, and the region inside its own to which it is to move: one that holds all that read it.
struct Sinking {
  NodeId node;
  RegionId into;
};

/// `graph` with these operations, in program order, moved to right before the first node there that reads them or holds who does. Each is
/// pure, and read by operations alone.
Graph sink(Graph graph, const std::vector<Sinking>& sinkings);

/// The node of `region` that holds `inner`, a region inside it; none: that is in the body of the while whose condition `region` is, behind
/// all of it.
NodeId holder(const Graph& graph, RegionId inner, RegionId region);

}  // namespace cleave
