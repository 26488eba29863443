// ChangedProgram: a program that a step of planning changed, with its numbers and its placements.
#pragma once

#include <memory>
#include <optional>

#include "graph/graph.h"
#include "partitioner/apply/baselines.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

struct ChangedProgram {
  std::shared_ptr<const Graph> graph;
  CostedProblem costed;
  Placement optimum;
  Baselines baselines;
};

/// Solves a changed program. Nothing if it has no placement, or none that costs less than `below` seconds.
std::optional<ChangedProgram> solve_changed(Graph graph, const CostModel& model, double below);

}  // namespace cleave::planner
