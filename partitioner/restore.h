// restore(): makes a Plan again from the decisions that an earlier planning made, without solving. Costs, transfers and the program follow
// from them. partitioner/plan_file.h writes decisions and reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/base/result.h"
#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/compile.h"
#include "partitioner/plan.h"

namespace cleave::planner {

/// The decisions of planning about a graph, by the numbers of its nodes in program order.
struct Decisions {
  std::vector<std::uint8_t> on_host, on_accelerator;  ///< as in Placement: by node, and then one for outputs and control
  FusibleGroups fusible;                              ///< as in CostedProblem
  std::vector<int> depths;                            ///< by channel
  std::vector<NodeId> kept_off;                       ///< nodes that are on the host only for lack of memory
  double capacity_bytes = 0;                          ///< PlacementProblem::accelerator_memory_bytes
  double bound_seconds = 0;
  double all_host_seconds = 0, all_accelerator_seconds = 0;
  double all_host_predicted_seconds = Plan::kUnknown, all_accelerator_predicted_seconds = Plan::kUnknown;
  bool all_accelerator_in_part = false;
  std::string program;  ///< a hash of the program's text
};

/// The decisions of a plan that is complete(). Its graph must be in program order (in_program_order).
Decisions decisions_of(const Plan& plan);

/// The plan of `graph`, which must be verified, with these decisions. Diagnostics, the account and advice are left out unless
/// `options.accounts`; nothing is tried. Decisions that break a rule, or give another program than they did, are an Error.
Result<Plan> restore(std::shared_ptr<const Graph> graph, Decisions decisions, const PlanOptions& options);

}  // namespace cleave::planner
