// anneal_loads(): lowers the load of the busiest device by moving groups between devices, from a given assignment.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/devices/load_graph.h"

namespace cleave::planner {

/// The best assignment that was seen, which fits if `start` does. `budget` counts visited values, not seconds, so that equal input gives
/// equal results.
std::vector<std::int32_t> anneal_loads(const LoadGraph& graph, std::vector<std::int32_t> start, double budget, std::uint64_t seed);

}  // namespace cleave::planner
