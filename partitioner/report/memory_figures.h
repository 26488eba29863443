// The peak memory of each device and the values held then, for text and JSON. The numbers come from the executor's memory planner.
#pragma once

#include <string>
#include <vector>

#include "partitioner/plan.h"

namespace cleave::planner {

struct MemoryFigures {
  DeviceId device;
  MemoryPeak peak;          ///< from the memory plan, without fusion of operations
  double memory_bytes = 0;  ///< the memory that the device has; 0: unknown
};

/// The figures of the host, then those of the accelerator.
std::vector<MemoryFigures> memory_figures(const Plan& plan);

/// "peak memory 12 MiB: `w` (4.0 MiB, 5:3), ...", with the largest values.
std::string memory_phrase(const Graph& graph, const MemoryFigures& figures);

}  // namespace cleave::planner
