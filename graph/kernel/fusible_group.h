// FusibleGroup and FusionGroup: operations that one kernel may run, and the interface of those that it does run with the rest of the
// program. Which operations are grouped, the planner decides (partitioner/machine/fusion.h). Knows no device and no cost.
#pragma once

#include <functional>
#include <vector>

#include "graph/base/device_name.h"
#include "graph/graph.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::kernels {

/// Operations of one region, each connected with earlier ones. The set is convex: no operation outside depends on one member while another
/// member depends on it. Members may be anywhere in the program; their order here follows the dataflow. Operations that only move an
/// operand of one member (transposes, slices) may come from anywhere earlier: those that the first member reads are in front and may be of
/// another region; those of a later member are right before it.
struct FusibleGroup {
  std::vector<NodeId> nodes;  ///< in order of execution; at least two
  std::size_t pulled = 0;     ///< number of moving operations in front
  /// By node: whether a kernel with it exists only if the other nodes' results have no readers outside the kernel.
  std::vector<char> must_hide;
  /// By node: whether it moves elements right before its reader; it is fused only if its reader and a member before it are.
  std::vector<char> waiting;

  [[nodiscard]] bool waits(std::size_t i) const { return i < waiting.size() && waiting[i] != 0; }
};

/// Groups by side.
using FusibleGroups = IdVector<DeviceId, std::vector<FusibleGroup>>;

/// By value: number of reads in the whole program, including those by control and outputs.
std::vector<int> count_uses(const Graph& graph);

/// The parts of a group that run as one kernel if only some of its operations are on the side: each maximal run of consecutive operations.
/// The first one keeps its moving operations in front; waiting operations at either end of a run are dropped. Runs of one operation are
/// left out.
std::vector<FusibleGroup> parts_of(const FusibleGroup& group, const std::function<bool(NodeId)>& on_side);

/// A group with its interface to the rest of the program.
struct FusionGroup {
  std::vector<NodeId> nodes;     ///< in order of execution; at least two
  std::vector<ValueId> inputs;   ///< values read from outside, each once
  std::vector<ValueId> results;  ///< results that are read outside; each is the one result of its node
};

/// `uses`: by value, number of reads in the whole program (count_uses).
FusionGroup make_group(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<int>& uses);

/// The request for a group, without ranges.
KernelRequest request_for(const Graph& graph, const FusionGroup& group);

}  // namespace cleave::kernels
