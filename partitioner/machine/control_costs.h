// add_control(): adds to a PlacementProblem the costs of control on machines whose accelerator decides loops and branches by itself
// (`control_flow: device_loops`). docs/placement.md states them.
#pragma once

#include "graph/graph.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Appends one value per control node, which says that its loop or branch is being executed. All nodes inside and the merge node use it.
/// Its transfer to the accelerator is free; its transfer to the host costs more than a host copy of the control node, so that host work
/// inside gives the host such a copy. The graph's nodes, values and uses must have been added before.
void add_control(const Graph& graph, PlacementProblem& problem);

}  // namespace cleave::planner
