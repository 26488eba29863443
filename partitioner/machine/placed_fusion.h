// Fusion for a placement that was found: which operations run as one kernel where they lie, and the problem with what that saves.
#pragma once

#include "partitioner/machine/costs.h"
#include "partitioner/machine/dataflow.h"
#include "partitioner/machine/fusion.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// Groups of what has a copy on each side. Kernels of both sides together never wait for each other in a circle.
FusibleGroups find_placed(const Graph& graph, const Dataflow& dataflow, const Placement& placement, const FusionRule& host,
                          const FusionRule& accelerator);

/// `costed` of the same graph and model, but with other groups, and what they save.
CostedProblem with_groups(const Graph& graph, const CostModel& model, const CostedProblem& costed, FusibleGroups groups);

/// The problem of `costed`, but with savings that no grouping of any placement exceeds, wherever what could sink into a loop stands
/// (optimistic_fusion.h): the objective of its solution is a bound.
PlacementProblem with_optimistic_fusion(const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable, const CostModel& model,
                                        const CostedProblem& costed);

}  // namespace cleave::planner
