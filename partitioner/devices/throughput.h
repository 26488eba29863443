// place_by_throughput(): placements for runs that follow each other, where the busiest device decides how many there are in a second.
#pragma once

#include "partitioner/devices/placed_devices.h"

namespace cleave::planner {

struct ThroughputSearch {
  bool contiguous = false;  ///< each device has one piece of one of the linear orders
  double moves = 2.4e7;     ///< visited values of the annealing
  double bound_work = 6e6;  ///< visited vertices and arcs of the bounds
};

/// The best placement found; `objective_seconds` is the load of the busiest device, in seconds a run. The load of an accelerator is its
/// work and the transfers to it and from it, that of the host its work. Nodes have one copy each. Savings are not counted.
/// `bound_seconds` is a lower bound for any placement, contiguous or not. An Error for a malformed problem, contradicting pins, or pins
/// that do not fit into the memory.
Result<PlacedDevices> place_by_throughput(const DeviceProblem& problem, const ThroughputSearch& options = {});

}  // namespace cleave::planner
