// Random problems for a host and several accelerators, and exhaustive searches over them that share no code with the planners.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "partitioner/devices/device_problem.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

struct RandomDevicesOptions {
  int nodes = 8;
  int accelerators = 3;
  int max_regions = 4;
  bool unlike = true;  ///< accelerators have own seconds and prices
  int replicable = 2;  ///< most nodes that may have several copies
  bool savings = false;
  bool peers = false;
  bool memory = false;
};

/// Equal seeds, equal problems.
planner::DeviceProblem random_devices(std::uint64_t seed, const RandomDevicesOptions& options = {});

/// The cost of a choice of copies (`copies[node]` has bit d set for device d), by its definition: for each value every set of transfers is
/// tried. Only for problems without links between accelerators.
double exhaustive_device_cost(const planner::DeviceProblem& problem, const std::vector<std::uint64_t>& copies);

/// The least cost of all placements, if it is below `known`; nothing otherwise.
std::optional<double> cheaper_placement(const planner::DeviceProblem& problem, double known);

}  // namespace cleave::testing
