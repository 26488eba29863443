// Control of a machine whose accelerator decides loops and branches by itself (`control_flow: device_loops`): what its decisions add to the
// numbers of a PlacementProblem. docs/placement.md states them.
#pragma once

#include "graph/graph.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Behind the values of the graph, one a control node: that its loop or branch is under way. Whoever computes inside needs it, as does the
/// node that merges. The host tells the accelerator for nothing; the other way round costs more than the host's own copy of the control
/// node, so that host work inside puts that there. Nodes and values of the graph, and their uses, come before.
void add_control(const Graph& graph, PlacementProblem& problem);

}  // namespace cleave::planner
