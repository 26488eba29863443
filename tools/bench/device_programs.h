// The mixed host and accelerator programs of the device benchmark, written as a user would write them with the tracing API. The peers of
// device_bench_torch.py compute the same with the same sizes.
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
  std::map<std::string, std::int64_t> sizes;  ///< what the peer needs to know
  Graph graph;
  std::map<std::string, Array> inputs;
  std::string precision = "f32";           ///< of matrix products
  Policy placement = Policy::accelerator;  ///< `accelerator` where the peer, too, has no choice
};

/// All programs. `small`: sizes for a test on the simulated accelerator.
std::vector<DeviceProgram> device_programs(bool small);

}  // namespace cleave::bench
