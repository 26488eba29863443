// solve_in_rounds(): alternates between placement and kernel fusion, since each depends on the other.
#pragma once

#include "graph/base/result.h"
#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// Fused kernels follow from a placement, and the cheapest placement depends on the savings of such kernels. So this solves and regroups in
/// turn for as long as the objective improves. It returns the best placement and leaves that placement's groups in `costed`, which must be
/// made from `graph` and `model`.
Result<Placement> solve_in_rounds(const Graph& graph, const CostModel& model, CostedProblem& costed);

}  // namespace cleave::planner
