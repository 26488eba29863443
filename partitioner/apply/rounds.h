// Rounds: a placement for which kernels are formed, and kernels for which a placement is found.
#pragma once

#include "graph/base/result.h"
#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// What runs as one kernel follows from a placement, and the cheapest placement from what such kernels save: in rounds, for as long as
/// something is gained. `costed`, of that graph and model, then has the groups of the best placement, which is returned.
Result<Placement> solve_in_rounds(const Graph& graph, const CostModel& model, CostedProblem& costed);

}  // namespace cleave::planner
