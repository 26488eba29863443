// A lower bound on the cost of every placement of a graph, however its operations are fused and sunk into loops.
#pragma once

#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// The bound ignores a restricting policy, so that the gap shows how far its placement is from the optimum. (The cost under the host
/// policy, which ignores pins, may be lower than the bound.) `placement` is the solution of `costed`.
double find_bound(const Graph& graph, CostModel model, const CostedProblem& costed, const Sinkable& sinkable, const Placement& placement);

/// `placement` with this bound and the gap to it.
Placement with_bound(Placement placement, double seconds);

}  // namespace cleave::planner
