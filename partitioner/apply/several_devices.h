// The way from the costs of a graph on several accelerators to a DeviceProblem, and from its answer to a Placement. partitioner/devices
// chooses between the devices; it knows numbers only.
#pragma once

#include "graph/graph.h"
#include "partitioner/devices/placed_devices.h"
#include "partitioner/machine/costs.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// `costed` must be for_all_accelerators().
DeviceProblem device_problem(const Graph& graph, const CostedProblem& costed);

/// The same choice as a Placement, for make_transfers() and split().
Placement placement_on_devices(const DeviceProblem& problem, const PlacedDevices& placed);

}  // namespace cleave::planner
