// Fusion: which neighbouring operations of a device's step lists run as one kernel. Decided here, once, from the Program and what the
// device says it can take; the memory plan and the device's preparation act on it. A value that only its own group uses has no memory.
#pragma once

#include <functional>
#include <vector>

#include "executor/device/device.h"
#include "executor/runtime.h"
#include "graph/graph.h"
#include "partitioner/apply/program.h"

namespace cleave::runtime {

/// Operations of one block with nothing between them, each connected with those before it, but for such in front that only the first of the
/// others reads: they may stand anywhere before. The kernel runs in the last one's place.
struct FusionGroup {
  std::vector<NodeId> nodes;     ///< in program order; two at least
  std::vector<ValueId> inputs;   ///< from outside, each once
  std::vector<ValueId> results;  ///< what others read, each a node's one result
};

struct Fusion {
  std::vector<FusionGroup> groups;
  std::vector<std::int32_t> group_of;  ///< by node; -1: runs by itself. Empty: nothing is fused

  [[nodiscard]] const FusionGroup* group(NodeId node) const {
    if (group_of.empty() || group_of[node.index] < 0) return nullptr;
    return &groups[static_cast<std::size_t>(group_of[node.index])];
  }
};

/// Whether a device has one kernel for such a request, whose ranges are not read.
using FusionRule = std::function<bool(const KernelRequest&)>;

/// Groups are grown one operation at a time for as long as `takes` agrees.
Fusion find_fusion(const Program& program, DeviceId device, const FusionRule& takes);

/// The request for a group, without ranges.
KernelRequest request_for(const Graph& graph, const FusionGroup& group);

}  // namespace cleave::runtime
