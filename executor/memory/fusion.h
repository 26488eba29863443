// Fusion: the operations of a device's step lists that run as one kernel: the groups that the planner costed and noted in the program, as
// far as the device has kernels for them. The memory plan and the device's preparation follow it. A value that is used only inside its
// group has no memory.
#pragma once

#include <vector>

#include "executor/runtime.h"
#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Groups of operations of one block. Their steps are adjacent, except for leading operations whose results only the first adjacent
/// operation reads: these may stand anywhere before. The kernel runs at the last operation's step.
struct Fusion {
  std::vector<FusionGroup> groups;
  std::vector<std::int32_t> group_of;  ///< by node; -1: not fused. Empty: nothing is fused

  [[nodiscard]] const FusionGroup* group(NodeId node) const {
    if (group_of.empty() || group_of[node.index] < 0) return nullptr;
    return &groups[static_cast<std::size_t>(group_of[node.index])];
  }
};

/// The groups of `program.kernels`, or parts of them, that `takes` accepts.
Fusion find_fusion(const Program& program, DeviceId device, const FusionRule& takes);

}  // namespace cleave::runtime
