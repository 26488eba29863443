// sink_into_loops(): moves operations from in front of a loop into it where they cost less as parts of their readers' kernels, and solves
// the program that results.
#pragma once

#include <memory>
#include <optional>

#include "graph/graph.h"
#include "partitioner/apply/baselines.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// A program with sunk operations, its numbers, and its placements.
struct SunkProgram {
  std::shared_ptr<const Graph> graph;
  CostedProblem costed;
  Placement optimum;
  Baselines baselines;
};

/// Empty if nothing is worth sinking, that is, if no placement of the sunk program costs less than `optimum`.
std::optional<SunkProgram> sink_into_loops(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                           const Sinkable& sinkable, const Placement& optimum);

}  // namespace cleave::planner
