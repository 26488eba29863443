// A program with its statements in another order, which computes the same.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "graph/passes/dataflow.h"
#include "graph/passes/renumber.h"

namespace cleave::testing {

/// Every region's nodes in a random order in which each node follows what it reads. Nodes with effects keep their order, and the merge
/// nodes of a branch stand right behind it.
inline Graph in_another_order(Graph graph, std::mt19937_64& random) {
  const Dataflow dataflow(graph);
  for (std::size_t r = 0; r < graph.regions.size(); ++r) {
    std::vector<NodeId>& nodes = graph.regions[RegionId(r)].nodes;
    std::vector<NodeId> left = dataflow.order(RegionId(r)), order;
    for (const NodeId id : nodes)  // inputs, carried values and the like stay in front
      if (std::find(left.begin(), left.end(), id) == left.end()) order.push_back(id);
    const auto merges = std::stable_partition(left.begin(), left.end(), [&](NodeId id) { return graph.nodes[id].kind != NodeKind::merge; });
    std::vector<NodeId> joined(merges, left.end());
    left.erase(merges, left.end());
    std::sort(joined.begin(), joined.end());
    while (!left.empty()) {
      const auto next = left.begin() + static_cast<std::ptrdiff_t>(random() % left.size());
      const auto before = dataflow.before(*next);
      const auto is_left = [&](NodeId other) {
        const NodeId node = graph.nodes[other].kind == NodeKind::merge ? graph.nodes[other].owner : other;
        return std::find(left.begin(), left.end(), node) != left.end();
      };
      if (std::any_of(before.begin(), before.end(), is_left)) continue;
      order.push_back(*next);
      for (const NodeId merge : joined)
        if (graph.nodes[merge].owner == *next) order.push_back(merge);
      left.erase(next);
    }
    nodes = std::move(order);
  }
  return in_program_order(std::move(graph));
}

}  // namespace cleave::testing
