// Questions about a placement that the solver answers in numbers: why a node is where it is, and what an accelerator kernel would be worth.
// All answers are exact optima, not estimates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// What it means to have one node on one side. All seconds are a whole run's.
struct Choice {
  double execution_seconds = 0;           ///< of the node itself
  double seconds_if_alone = 0;            ///< of the whole plan, if everything else stays where it is
  double transfer_seconds_if_alone = 0;   ///< of all transfers then
  std::optional<double> optimum_seconds;  ///< of the best plan with the node there; nothing where its pins forbid it
};
struct Why {
  bool on_host = false, on_accelerator = false;  ///< as placed
  Choice host, accelerator;
};
/// Two exact re-solves, one with the node pinned to either side (its own pin is lifted, those of its group hold).
Result<Why> why(const PlacementProblem& problem, const Placement& placement, std::int32_t node);

struct Advice {
  std::int32_t node = 0;
  double optimum_seconds = 0;  ///< of the plan if this node alone may also run on the accelerator, at its `accelerator_seconds`
  double saved_seconds = 0;    ///< against the optimum as it is
};
/// The worth of an accelerator kernel for each of `host_only` (nodes pinned to the host), most valuable first. One solution of the problem
/// and local repairs of its flow. An Error as from solve(). A memory capacity is not considered.
Result<std::vector<Advice>> advise(const PlacementProblem& problem, const std::vector<std::int32_t>& host_only);

}  // namespace cleave::planner
