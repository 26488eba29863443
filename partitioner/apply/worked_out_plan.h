// WorkedOutPlan: a placement worked out to the program it gives and the time that program is predicted to take. What is compared where the
// minimum cut alone does not decide: elapsed time, and memory at its peak.
#pragma once

#include <functional>
#include <memory>

#include "partitioner/apply/program.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave {

struct WorkedOutPlan {
  Placement placement;
  Transfers transfers;
  Program program;
  Schedule schedule;
};

/// What all candidates have in common.
struct PlannedGraph {
  std::shared_ptr<const Graph> graph;
  const CostedProblem& costed;
  const Machine& machine;
  std::function<bool(const Program&)> fits = nullptr;  ///< into the accelerator's memory; null: everything does

  /// Arguments are received as far ahead as fits.
  [[nodiscard]] WorkedOutPlan work_out(Placement placement) const;
};

}  // namespace cleave
