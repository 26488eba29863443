// reduce(): the second step of the solver. Decides, before any network exists, the classes whose side in the canonical minimum cut follows
// from bounds on their flow. Exact, also for ties: the canonical minimum cut of the rest is that of the whole problem.
#pragma once

#include "partitioner/solver/contract.h"
#include "partitioner/solver/network.h"
#include "partitioner/solver/problem.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

struct Reductions {
  bool to_host = true;
  bool to_accelerator = true;  ///< false under a memory capacity, whose price may drive any class away from the accelerator
};

/// Forbids replication of classes for which computing twice costs at least what it saves, and pins classes whose own preference exceeds all
/// of their transfers (to the host also on a tie, to the accelerator only if strictly greater). Each decision may cause further ones.
void reduce(const PlacementProblem& problem, const UsesByValue& uses, const CapacityScale& scale, const Reductions& which,
            Contraction& contraction);

}  // namespace cleave::planner
