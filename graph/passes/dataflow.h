// Dataflow: the dependences among the nodes of each region, and a canonical order of a region's nodes. The order depends on the computation
// alone, never on the order of independent statements, on names or on pins. Knows no machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace cleave {

class Dataflow {
 public:
  explicit Dataflow(const Graph& graph);

  /// The nodes of the same region that must precede a node, each once: the producers of its operands, or of values that are read inside it
  /// if it is a loop or branch; the branch of a merge node; and for a node with effects, the previous one with effects. Values that exist
  /// on entry to the region (constants, loop-carried values) add none.
  [[nodiscard]] std::span<const NodeId> before(NodeId node) const {
    return {before_.data() + first_before_[node.index], before_.data() + first_before_[node.index + 1]};
  }
  /// The operations, loops, branches and merge nodes of a region in a topological order that keeps producers next to their consumers where
  /// possible. Equal for equal programs, except that nodes with the same position in the dataflow may be exchanged.
  [[nodiscard]] const std::vector<NodeId>& order(RegionId region) const { return order_[region]; }

 private:
  void collect_before(const Graph& graph);
  void find_order(const Graph& graph);

  std::vector<std::size_t> first_before_;  ///< by node: its range in before_
  std::vector<NodeId> before_;
  IdVector<RegionId, std::vector<NodeId>> order_;
};

}  // namespace cleave
