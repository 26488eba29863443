// PlacedDevices: the devices on which each node has a copy, the transfers that follow, their cost, and a lower bound. evaluate_devices()
// computes transfers and cost from the sets alone; the planners of this folder choose the sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitioner/devices/device_problem.h"
#include "partitioner/solver/placement.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

using RoutedTransfer = PlannedTransfer;

struct PlacedDevices {
  std::vector<DeviceSet> on;              ///< per node; never empty
  std::vector<RoutedTransfer> transfers;  ///< ordered by value, route, region
  double objective_seconds = 0;           ///< of the objective that was minimized
  double bound_seconds = 0;               ///< lower bound on the objective of every placement
  double gap = 0;                         ///< (objective - bound) / objective
  double solve_seconds = 0;               ///< wall clock
};

/// Cost of the sets `on`: the sum over executions of frequency times seconds on each device with a copy, less savings, and the transfers.
/// A value that has no copy on a device where it is needed takes one route there, whatever the number of its uses: over a peer link, or
/// through the host. Its way to the host is paid once and serves all devices behind it and the host itself; the way from the host is
/// paid once a device. Transfers are not listed.
double cost_of_devices(const DeviceProblem& problem, const UsesByValue& uses, const std::vector<DeviceSet>& on);

/// The cost of the routes of some values; class_of[node] is the index of a node's set in `on`.
double cost_of_routes(const DeviceProblem& problem, const UsesByValue& uses, const std::vector<std::int32_t>& values,
                      const std::vector<std::int32_t>& class_of, const std::vector<DeviceSet>& on);

/// The placement with its transfers; `objective_seconds` is the cost, and the bound is 0.
PlacedDevices evaluate_devices(const DeviceProblem& problem, std::vector<DeviceSet> on);

/// The rules that a placement breaks, as sentences; empty if none.
std::vector<std::string> verify(const DeviceProblem& problem, const PlacedDevices& placement);

/// Sets the gap from objective and bound.
void set_gap(PlacedDevices& placement);

}  // namespace cleave::planner
