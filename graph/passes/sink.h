// sink: the reverse of hoist-invariant, for operations that cost less beside their readers in a loop. It moves the operations that the
// planner names and decides nothing itself.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace cleave {

/// An operation and its destination: a region nested in the operation's own that contains all its readers.
struct Sinking {
  NodeId node;
  RegionId into;
};

/// Moves the given operations (in program order) directly before the first node of their destination that reads them or contains a reader.
/// Each must be pure and read by operations only.
Graph sink(Graph graph, const std::vector<Sinking>& sinkings);

/// The node of `region` that contains its nested region `inner`. None if `region` is a while's condition and `inner` belongs to the while's
/// body, which follows all nodes of the condition.
NodeId holder(const Graph& graph, RegionId inner, RegionId region);

}  // namespace cleave
