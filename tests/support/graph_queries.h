// Questions of tests about a graph: its first node of an operation, and the operations of a region.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

/// The first node that is `op` or of the kind named so.
inline NodeId find_node(const Graph& graph, std::string_view op) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.op_name(NodeId(i)) == op) return NodeId(i);
  ADD_FAILURE() << "no " << op;
  return {};
}

/// The region of that node.
inline RegionId region_of(const Graph& graph, std::string_view op) {
  return graph.nodes[find_node(graph, op)].region;
}

/// The names of a region's nodes, in order.
inline std::vector<std::string> ops_of(const Graph& graph, RegionId region) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.regions[region].nodes) ops.emplace_back(graph.op_name(id));
  return ops;
}

}  // namespace cleave::testing
