// Dataflow: what each node of a region waits for in that region, and an order of its nodes that follows from what they compute alone: not
// from the order of independent statements, nor from names, nor from pins. Knows no machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace cleave::planner {

class Dataflow {
 public:
  explicit Dataflow(const Graph& graph);

  /// Nodes of a node's own region that come before it: those that make what it reads, or what is read inside it if it is a loop or branch;
  /// its branch, of a merge node; and of what has effects the one with effects before it. Each once. What is there when the region is
  /// entered (constants, what a loop carries) is left out.
  [[nodiscard]] std::span<const NodeId> before(NodeId node) const {
    return {before_.data() + first_before_[node.index], before_.data() + first_before_[node.index + 1]};
  }
  /// The operations, loops, branches and merge nodes of a region, each behind what comes before it, and makers next to their readers where
  /// that can be. Equal for equal programs, up to nodes that stand in the same way in the same dataflow.
  [[nodiscard]] const std::vector<NodeId>& order(RegionId region) const { return order_[region]; }

 private:
  void collect_before(const Graph& graph);
  void find_order(const Graph& graph);

  std::vector<std::size_t> first_before_;  ///< by node
  std::vector<NodeId> before_;
  IdVector<RegionId, std::vector<NodeId>> order_;
};

}  // namespace cleave::planner
