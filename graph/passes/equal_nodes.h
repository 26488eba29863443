// Which nodes compute the same: same op, attributes, inputs, pin and allowances, and a place from which the earlier one can be read.
// Fed in program order; a region is closed when the walk leaves it.
#pragma once

#include <unordered_map>

#include "graph/graph.h"

namespace cleave {

class EqualNodes {
 public:
  /// `graph` must outlive this.
  explicit EqualNodes(const Graph& graph) : graph_(graph) { known_.reserve(graph.nodes.size()); }

  /// An earlier node of an open region that computes the same, or `node` itself, which is then known.
  NodeId find_or_add(NodeId node);
  void close(RegionId region);

 private:
  const Graph& graph_;
  std::unordered_multimap<std::size_t, NodeId> known_;  ///< by hash
  std::vector<std::pair<RegionId, std::unordered_multimap<std::size_t, NodeId>::iterator>> added_;
};

}  // namespace cleave
