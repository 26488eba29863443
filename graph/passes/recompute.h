// recompute: computes operations a second time, so that what they give need not stay in memory in between. It repeats the operations that
// the planner names and decides nothing itself. merge-equal would undo it, so it runs behind the passes.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace cleave {

/// A pure operation, and a node of its region behind it: what stands behind `moment` reads a second result of the operation.
struct Repetition {
  NodeId node;
  NodeId moment;
};

/// Each repetition stands right before its first reader. It reads those of its operands that are repeated, too, and otherwise the operands
/// of the operation. `repetitions` are in program order. Outputs, conditions and the next values of loops read the first result.
Graph recompute(Graph graph, const std::vector<Repetition>& repetitions);

/// The place of a reader of a value of `region` among the nodes of `region`: the node itself, or the one that holds it. For a merge it is
/// the branch, since nothing may stand between the two. None if no node of the region holds it.
NodeId reading_place(const Graph& graph, NodeId reader, RegionId region);

}  // namespace cleave
