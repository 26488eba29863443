// --placement fastest: looks for a placement whose program is predicted to take less time than that of the minimum cut, which minimises a
// sum, while host, accelerator and copies work at once. Cuts again with costs weighted by how critical they are and how busy their
// resource is, then moves what lies at the cut, and keeps what the schedule says is faster. No promise of an optimum.
#pragma once

#include <functional>
#include <vector>

#include "partitioner/apply/worked_out_plan.h"

namespace cleave::planner {

struct RefineOptions {
  int rounds = 6;                                      ///< of cutting again
  double max_work = 2e5;                               ///< nodes of all candidates together, beyond a few candidates of any size
  std::function<bool(const Program&)> fits = nullptr;  ///< into memory; null: everything does
};

/// The fastest of `optimal` (the minimum cut), the baselines that the problem allows, and what is found from there; ties go to the former.
/// The bound stays that of the minimum cut: it holds for the sum, whatever the placement.
WorkedOutPlan refine(const PlannedGraph& planned, WorkedOutPlan optimal, const std::vector<Placement>& baselines,
                     const RefineOptions& options = {});

}  // namespace cleave::planner
