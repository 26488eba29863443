// find_criticality(): the slack of each execution and transfer of a placement. Host, accelerator and one copy engine per direction each
// work in program order; a loop counts as straight-line code, with each cost multiplied by its executions. Coarser than the schedule, but
// it covers every node: it suggests where a better placement may be found, and the schedule decides whether it is better.
#pragma once

#include <vector>

#include "partitioner/solver/placement.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

/// From 0 (slack of a whole run) to 1 (on the critical path); negative where the placement has no such execution or transfer.
struct Criticality {
  std::vector<double> node[2];   ///< executions on the host, on the accelerator
  std::vector<double> value[2];  ///< transfers to the host, to the accelerator
  double busy[4]{};              ///< seconds of work of host, accelerator, engine to the host, engine to the accelerator
  double mean[4]{};              ///< criticality of that work, averaged over its seconds
};

Criticality find_criticality(const PlacementProblem& problem, const UsesByValue& uses, const Placement& placement);

}  // namespace cleave::planner
