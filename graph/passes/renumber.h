// Graph -> Graph: nodes, values and regions numbered in program order, as the text form numbers them. Drops what is not kept.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Every node and region in program order: a region's nodes one after the other, behind a control node its regions.
struct ProgramOrder {
  std::vector<NodeId> nodes;
  std::vector<RegionId> regions;
};
ProgramOrder program_order(const Graph& graph, const IdVector<NodeId, bool>* keep = nullptr);

/// Renumbers `graph`. With `keep`, nodes that are not kept vanish with their results and regions; nothing kept may read them, except
/// that an output, input or predicate may have been pointed elsewhere before.
Graph in_program_order(Graph graph, const IdVector<NodeId, bool>* keep = nullptr);

}  // namespace cleave
