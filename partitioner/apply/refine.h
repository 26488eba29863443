// `--placement fastest`: refine() searches for a placement with a lower predicted time than the minimum cut, which minimizes the sum of all
// costs although host, accelerator and copies work in parallel. It solves again with costs weighted by criticality and by how busy their
// resource is, then moves nodes at the cut, and keeps a candidate if the schedule predicts less time. The result need not be optimal.
#pragma once

#include <functional>
#include <vector>

#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

struct RefineOptions {
  int rounds = 6;         ///< how often to solve with new weights
  double max_work = 2e5;  ///< budget for candidates, in nodes of all candidates together; a few candidates are always tried
  std::function<bool(const Program&)> fits = nullptr;  ///< whether a program fits into memory; null: every program does
};

/// Returns the fastest of `optimal` (the minimum cut), the baselines that the problem allows, and the placements found from there. In a tie
/// the former wins. The bound stays that of the minimum cut, since that bounds the sum of costs for every placement.
WorkedOutPlan refine(const PlannedGraph& planned, WorkedOutPlan optimal, const std::vector<Placement>& baselines,
                     const RefineOptions& options = {});

}  // namespace cleave::planner
