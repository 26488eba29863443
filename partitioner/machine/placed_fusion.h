// Fusion for a given placement: which operations run as one kernel on their sides, and the problem with the savings of that.
#pragma once

#include "graph/kernel/fusible_group.h"
#include "graph/passes/dataflow.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/planner.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// The groups among the operations with a copy on each side. Kernels of both sides together never depend on each other in a cycle.
FusibleGroups find_placed(const Graph& graph, const Dataflow& dataflow, const Placement& placement, const FusionRule& host,
                          const FusionRule& accelerator);

/// make_problem() with these groups, which are not searched for.
CostedProblem make_problem(const Graph& graph, const CostModel& model, FusibleGroups groups, Diagnostics& diagnostics);

/// `costed`, made of the same graph and model, with other groups and their savings.
CostedProblem with_groups(const Graph& graph, const CostModel& model, const CostedProblem& costed, FusibleGroups groups);

/// The problem of `costed` with savings that no grouping of any placement exceeds, whether sinkable operations are inside or outside of
/// their loops (optimistic_fusion.h). The objective of its solution is a lower bound.
PlacementProblem with_optimistic_fusion(const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable, const CostModel& model,
                                        const CostedProblem& costed);

}  // namespace cleave::planner
