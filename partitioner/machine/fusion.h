// Fusion: which operations run as one kernel where they have copies on one side. Found here, from the dataflow and what the side has
// kernels for: the plan counts what they save (machine/costs.h), puts their steps side by side and notes them in the Program
// (apply/split.h), and the executor makes the kernels that it finds there. So what runs is what was counted on.
#pragma once

#include <functional>
#include <vector>

#include "graph/base/device_name.h"
#include "graph/graph.h"
#include "partitioner/machine/kernel_request.h"

namespace cleave::planner {

class Dataflow;

/// Operations of one region, each connected with those before it, and none waiting for another that waits for one of them. They may stand
/// anywhere in the program; their order here goes by the dataflow. Operations that only move what one member reads (transposes, slices)
/// come from anywhere before: those that the first member reads stand in front, and may be of another region; those of a later one stand
/// right before it.
struct FusibleGroup {
  std::vector<NodeId> nodes;    ///< as they are done; two at least
  std::size_t pulled = 0;       ///< so many stand in front
  std::vector<char> must_hide;  ///< by node: there is a kernel with it only if nobody else reads what the others make
  std::vector<char> waiting;    ///< by node: it stands right before its reader, and is in the kernel only between that and a member before

  [[nodiscard]] bool waits(std::size_t i) const { return i < waiting.size() && waiting[i] != 0; }
};

/// By side.
using FusibleGroups = IdVector<DeviceId, std::vector<FusibleGroup>>;

/// By value: how often it is read in the whole program, by control and outputs too.
std::vector<int> count_uses(const Graph& graph);

/// Groups are grown one operation at a time for as long as `takes` agrees, several at once, and none ever waits for another in a circle.
/// They follow from the dataflow: not from the order of statements, nor from names or pins. `may`: what can be in one on `side`; null: as
/// if all the program ran there, but for operations that certainly do not (effects, host functions, what moves a value to the other side).
std::vector<FusibleGroup> find_fusible(const Graph& graph, const Dataflow& dataflow, DeviceId side, const FusionRule& takes,
                                       const std::function<bool(NodeId)>& may = nullptr);

/// What runs as one kernel of a group of which a side has some operations only: each row of neighbours without a gap, the first of them
/// with what it pulls, without what waits for a reader at its end or waits for nothing at its beginning. Rows of one are left out.
std::vector<FusibleGroup> parts_of(const FusibleGroup& group, const std::function<bool(NodeId)>& on_side);

/// A group as it meets the rest of a program.
struct FusionGroup {
  std::vector<NodeId> nodes;     ///< as they are done; two at least
  std::vector<ValueId> inputs;   ///< from outside, each once
  std::vector<ValueId> results;  ///< what others read, each a node's one result
};

/// `uses`: by value, how often it is read in all.
FusionGroup make_group(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<int>& uses);

/// The request for a group, without ranges.
KernelRequest request_for(const Graph& graph, const FusionGroup& group);

}  // namespace cleave::planner
