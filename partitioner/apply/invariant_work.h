// Loop-invariant host work: operations that a loop repeats on the host although none of their operands changes there, because the program
// pins them or calls a host function inside the loop. find_invariant_work() finds them for diagnostics: hoisted out, they would run once.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

struct InvariantWork {
  NodeId loop;    ///< the outermost loop in which the operands are invariant
  NodeId blamed;  ///< the costliest operation that must be on the host
  /// The nodes to hoist, in program order: the group's operations, and those inside the loop that they read.
  std::vector<NodeId> nodes;
  double seconds = 0;  ///< host time in a whole run
};

/// Sorted by the position of `blamed` in the program. Host operations form one item where one reads another's result.
std::vector<InvariantWork> find_invariant_work(const Graph& graph, const CostedProblem& costed, const Placement& placement);

}  // namespace cleave::planner
