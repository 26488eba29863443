// How much memory each device holds when it holds most, and which values those are. Text and JSON show it; who lays memory out says it.
#pragma once

#include <string>
#include <vector>

#include "partitioner/compile.h"

namespace cleave::planner {

struct MemoryFigures {
  DeviceId device;
  MemoryPeak peak;          ///< by the plan of memory, every operation by itself
  double memory_bytes = 0;  ///< what there is; 0: not known
};

/// Of the host, then of the accelerator.
std::vector<MemoryFigures> memory_figures(const Plan& plan);

/// "peak memory 12 MiB: `w` (4.0 MiB, 5:3), ..."; of many values the largest.
std::string memory_phrase(const Graph& graph, const MemoryFigures& figures);

}  // namespace cleave::planner
