// WorkedOutPlan: a placement with the program it gives and that program's predicted schedule. work_out() makes one. Candidates are compared
// in this form where the minimum cut does not decide: by elapsed time and by peak memory.
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

/// The data shared by all candidate plans of one graph.
struct PlannedGraph {
  std::shared_ptr<const Graph> graph;
  const CostedProblem& costed;
  std::function<bool(const Program&)> fits = nullptr;  ///< whether a program fits into the accelerator's memory; null: every program does
  /// Sets the depths of a plan's channels and predicts its schedule again; null: channels keep the default depth. Call it before comparing
  /// a plan with the predicted time of the chosen plan; work_out() does not call it.
  std::function<void(WorkedOutPlan&, const CostedProblem&)> deepen = nullptr;
};

/// Makes the transfers of a placement, the program that they give, and its schedule. Arguments are received as far ahead as memory allows.
WorkedOutPlan work_out(const PlannedGraph& planned, Placement placement);

}  // namespace cleave::planner
