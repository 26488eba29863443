// Second step of the solver: decides what no cut can decide otherwise, before any network exists. Exact, and neutral to ties: the canonical
// minimum cut of what is left is that of the whole.
#pragma once

#include "partitioner/solver/contract.h"
#include "partitioner/solver/network.h"
#include "partitioner/solver/problem.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

struct Reductions {
  bool to_host = true;
  bool to_accelerator = true;  ///< not under a memory capacity, whose price may yet drive anything away
};

/// Takes the second copy from classes for which computing twice costs at least what it saves, and pins classes whose own preference exceeds
/// all of their transfers (to the host on a tie, to the accelerator only strictly), in a cascade.
void reduce(const PlacementProblem& problem, const UsesByValue& uses, const CapacityScale& scale, const Reductions& which,
            Contraction& contraction);

}  // namespace cleave::planner
