// Criticality: how much each execution and transfer of a placement could be late without the whole run being late. Host, accelerator and
// one copy engine a direction each do their work in program order; a loop counts as straight code, everything in it times its executions.
// Coarser than the schedule, but for every node: it says where to look for a better placement, the schedule says whether it is one.
#pragma once

#include <vector>

#include "partitioner/solver/placement.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

/// From 0 (may be late by the whole run) to 1 (on the critical path); a negative number where the placement has no such thing.
struct Criticality {
  std::vector<double> node[2];   ///< on the host, on the accelerator
  std::vector<double> value[2];  ///< transfers to the host, to the accelerator
  double busy[4]{};              ///< seconds of work of host, accelerator, engine to the host, engine to the accelerator
  double mean[4]{};              ///< criticality of an average second of that work
};

Criticality find_criticality(const PlacementProblem& problem, const UsesByValue& uses, const Placement& placement);

}  // namespace cleave::planner
