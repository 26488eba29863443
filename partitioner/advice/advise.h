// why() and kernel_savings(): questions about a placement, answered in numbers: why a node has its side, and how much an accelerator kernel
// would save. All answers are exact optima, not estimates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/base/result.h"
#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// The costs of having one node on one side. All seconds are per run.
struct Choice {
  double execution_seconds = 0;           ///< execution of the node itself
  double seconds_if_alone = 0;            ///< cost of the whole plan if all other nodes keep their sides
  double transfer_seconds_if_alone = 0;   ///< cost of all transfers in that case
  std::optional<double> optimum_seconds;  ///< cost of the best plan with the node on this side; empty if pins forbid it
};
struct Why {
  bool on_host = false, on_accelerator = false;  ///< sides in the given placement
  Choice host, accelerator;
};
/// Two exact re-solves, with the node pinned to either side. Its own pin is lifted; those of its group hold.
Result<Why> why(const PlacementProblem& problem, const Placement& placement, std::int32_t node);

struct KernelSaving {
  std::int32_t node = 0;
  double optimum_seconds = 0;  ///< cost of the best plan if this node alone may also run on the accelerator, at its `accelerator_seconds`
  double saved_seconds = 0;    ///< saving against the present optimum
};
/// How much an accelerator kernel would save for each of `host_only` (nodes pinned to the host), largest saving first. The problem is
/// solved once; each answer is a local repair of its flow. An Error as from solve(). Ignores the memory capacity.
Result<std::vector<KernelSaving>> kernel_savings(const PlacementProblem& problem, const std::vector<std::int32_t>& host_only);

}  // namespace cleave::planner
