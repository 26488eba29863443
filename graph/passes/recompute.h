// recompute: computes operations a second time, or keeps their results on the host, so that they need not stay in the accelerator's memory
// in between. It changes the operations that the planner names and decides nothing itself. merge-equal would undo it, so it runs behind the
// passes.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// A pure operation, and a node of its region behind it: what stands behind `moment` reads a second result of the operation.
struct Repetition {
  NodeId node;
  NodeId moment;
};

/// The reason of the pins of operations that keep values on the host. They are reshapes that change nothing.
inline constexpr std::string_view kKeptOnHost = "the accelerator's memory is too small";

/// Each repetition stands right before its first reader, and what is kept on the host little before. It reads those of its operands that
/// are repeated, too, and otherwise the operands of the operation. `repetitions` and `kept_on_host` are in program order, and no operation
/// is in both. Outputs, conditions and the next values of loops read the first result. `origin`, unless null, is filled with the former
/// number of each node; none: it is new.
Graph recompute(Graph graph, const std::vector<Repetition>& repetitions, const std::vector<Repetition>& kept_on_host = {},
                IdVector<NodeId, NodeId>* origin = nullptr);

/// The place of a reader of a value of `region` among the nodes of `region`: the node itself, or the one that holds it. For a merge it is
/// the branch, since nothing may stand between the two. None if no node of the region holds it.
NodeId reading_place(const Graph& graph, NodeId reader, RegionId region);

}  // namespace cleave
