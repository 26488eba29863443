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

namespace cleave::planner {

struct WorkedOutPlan {
  Placement placement;
  Transfers transfers;
  Program program;
  Schedule schedule;
};

/// What all plans of one graph have in common.
struct PlannedGraph {
  std::shared_ptr<const Graph> graph;
  const CostedProblem& costed;
  std::function<bool(const Program&)> fits = nullptr;  ///< into the accelerator's memory; null: everything does
  /// Gives the channels of a plan for these costs their depths, and predicts it anew; null: channels keep the default depth. What is
  /// compared with the time of the plan that was chosen needs it; work_out() does not call it.
  std::function<void(WorkedOutPlan&, const CostedProblem&)> deepen = nullptr;
};

/// The transfers of a placement, the program that they give, and its schedule. Arguments are received as far ahead as fits.
WorkedOutPlan work_out(const PlannedGraph& planned, Placement placement);

}  // namespace cleave::planner
