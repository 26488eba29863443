// Fusion: which operations of a device's step lists run as one kernel: what the planner counted on and noted in the program, as far as the
// device has kernels for it. The memory plan and the device's preparation act on it. A value that only its own group uses has no
// memory.
#pragma once

#include <vector>

#include "executor/runtime.h"
#include "graph/graph.h"
#include "partitioner/apply/program.h"
#include "partitioner/machine/fusion.h"

namespace cleave::runtime {

/// Operations of one block with nothing between them but for such in front that only the first of the others reads: they may stand anywhere
/// before. The kernel runs in the last one's place.
struct Fusion {
  std::vector<FusionGroup> groups;
  std::vector<std::int32_t> group_of;  ///< by node; -1: runs by itself. Empty: nothing is fused

  [[nodiscard]] const FusionGroup* group(NodeId node) const {
    if (group_of.empty() || group_of[node.index] < 0) return nullptr;
    return &groups[static_cast<std::size_t>(group_of[node.index])];
  }
};

/// Of `program.kernels`, what `takes` agrees to.
Fusion find_fusion(const Program& program, DeviceId device, const FusionRule& takes);

}  // namespace cleave::runtime
