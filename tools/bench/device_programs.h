// The mixed host and accelerator programs of the device benchmark, written as users would write them with the tracing API.
// device_bench_torch.py computes the same programs with the same sizes in PyTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/array/array.h"
#include "graph/graph.h"
#include "partitioner/machine/costs.h"

namespace cleave::bench {

using namespace planner;

struct DeviceProgram {
  std::string name;
  std::map<std::string, std::int64_t> sizes;  ///< sizes for the PyTorch program
  Graph graph;
  std::map<std::string, Array> inputs;
  std::string precision = "f32";           ///< precision of matrix products
  Policy placement = Policy::accelerator;  ///< `accelerator` if the PyTorch program has no choice either
};

/// All programs. `small`: sizes for a test on the simulated accelerator.
std::vector<DeviceProgram> device_programs(bool small);

}  // namespace cleave::bench
