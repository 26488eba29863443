// EqualNodes: a table of nodes for common subexpression elimination. Two nodes are equal if op, attributes, inputs, pin and allowances are
// equal, and the earlier one can be read at the later one. Nodes must be added in program order, and a region must be closed when the walk
// leaves it.
#pragma once

#include <unordered_map>

#include "graph/graph.h"

namespace cleave {

class EqualNodes {
 public:
  /// `graph` must outlive this.
  explicit EqualNodes(const Graph& graph) : graph_(graph) { known_.reserve(graph.nodes.size()); }

  /// An equal earlier node in an open region; if there is none, adds `node` and returns it.
  NodeId find_or_add(NodeId node);
  void close(RegionId region);

 private:
  const Graph& graph_;
  std::unordered_multimap<std::size_t, NodeId> known_;  ///< by hash
  std::vector<std::pair<RegionId, std::unordered_multimap<std::size_t, NodeId>::iterator>> added_;
};

}  // namespace cleave
