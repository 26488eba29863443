// Invariant work: what a loop computes on the host although nothing that it reads changes there, because the program pins it, or calls a
// host function, inside. Moved in front of the loop it would be paid once.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

struct InvariantWork {
  NodeId loop;                ///< the outermost in which nothing changes
  NodeId blamed;              ///< the costliest of what must be on the host
  std::vector<NodeId> nodes;  ///< what to move in front of the loop, in program order: that, what it reads, and what else goes with it
  double seconds = 0;         ///< on the host, a run
};

/// In program order of `blamed`. Host operations are one piece of work where one computes with what another made.
std::vector<InvariantWork> find_invariant_work(const Graph& graph, const CostedProblem& costed, const Placement& placement);

}  // namespace cleave::planner
