// renumber: numbers nodes, values and regions in program order, as the text form does, and removes nodes that are not kept.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Every node and region in program order: the nodes of a region in sequence, and after each control node its regions.
struct ProgramOrder {
  std::vector<NodeId> nodes;
  std::vector<RegionId> regions;
};
ProgramOrder program_order(const Graph& graph, const IdVector<NodeId, bool>* keep = nullptr);

/// Renumbers `graph`. With `keep`, all other nodes are removed with their results and regions; no kept node, output or predicate may still
/// refer to them.
Graph in_program_order(Graph graph, const IdVector<NodeId, bool>* keep = nullptr);

}  // namespace cleave
