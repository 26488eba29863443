// place_by_latency(): placements for the least time of one run, by the rule of latency_rule.h.
#pragma once

#include "partitioner/devices/placed_devices.h"

namespace cleave::planner {

struct LatencySearch {
  double moves = 4e7;  ///< visited nodes and uses of all evaluations; counted so that equal input gives equal plans
};

/// The best placement found; `objective_seconds` is the time of one run. An accelerator waits for all inputs of a piece of its work, copies
/// them from the host's memory, computes, and copies the results back; operations on the host have free cores. Nodes have one copy each;
/// links between accelerators and savings are not used. `bound_seconds` is a lower bound for any placement. An Error for a malformed
/// problem, contradicting pins, pins that do not fit into the memory, or nodes that wait for each other in a circle.
Result<PlacedDevices> place_by_latency(const DeviceProblem& problem, const LatencySearch& options = {});

}  // namespace cleave::planner
