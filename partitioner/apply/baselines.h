// Baselines: the placements that a plan is compared with, everything on the host and everything on the accelerator, and their predicted
// times.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// One baseline. Its cost, and its time in a run, are NaN where there is no such placement or plan.
struct Baseline {
  std::optional<Placement> placement;  ///< without regard to memory
  double seconds = std::numeric_limits<double>::quiet_NaN();
  double predicted_seconds = std::numeric_limits<double>::quiet_NaN();
  bool in_part = false;  ///< some operations have no copy on the accelerator
};

struct Baselines {
  Baseline host, accelerator;

  /// The placements that exist.
  [[nodiscard]] std::vector<Placement> placements() const;
};

/// Solves `costed` under both policies, except the one that the plan itself has.
Baselines solve_baselines(const Graph& graph, const CostModel& model, const CostedProblem& costed);

/// Predicts the times of the baselines. The optimum minimizes the sum of work and transfers, so a baseline that overlaps better may be
/// faster.
Baselines predict_baselines(const PlannedGraph& planned, Baselines baselines);

}  // namespace cleave::planner
