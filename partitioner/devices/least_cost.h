// place_by_cost(): the least sum of work and transfers on the host and several accelerators. The problem is NP-hard; the search uses exact
// two-sided cuts as its moves, and the bound is the exact cut of a problem with one accelerator.
#pragma once

#include "partitioner/devices/placed_devices.h"

namespace cleave::planner {

struct CostSearch {
  double max_work = 1e9;    ///< most vertices and arcs in all cuts of the search together, counted so that equal input gives equal plans
  std::int64_t kicks = 60;  ///< most attempts to leave a placement that no move improves
};

/// The best placement found, with its bound and gap. An Error for a malformed problem, contradicting pins, or pins that do not fit into
/// the memory.
Result<PlacedDevices> place_by_cost(const DeviceProblem& problem, const CostSearch& options = {});

/// All accelerators merged into one: each operation's least seconds, each value's cheapest transfers, the sum of the memories. Its
/// optimum is at most that of the problem.
PlacementProblem merged_accelerators(const DeviceProblem& problem);

}  // namespace cleave::planner
