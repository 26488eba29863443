#include "graph/passes/sink.h"

#include <utility>

#include "graph/passes/renumber.h"

namespace cleave {

NodeId holder(const Graph& graph, RegionId inner, RegionId region) {
  for (;;) {
    const Region& at = graph.regions[inner];
    if (at.kind == RegionKind::while_body && at.parent == region) return {};
    if (graph.nodes[at.owner].region == region) return at.owner;
    inner = graph.nodes[at.owner].region;
  }
}

Graph sink(Graph graph, const std::vector<Sinking>& sinkings) {
  IdVector<NodeId, std::size_t> place(graph.nodes.size(), 0);
  for (const Region& region : graph.regions)
    for (std::size_t i = 0; i < region.nodes.size(); ++i) place[region.nodes[i]] = i;
  IdVector<NodeId, std::vector<NodeId>> readers(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const ValueId input : graph.nodes[NodeId(i)].inputs) readers[graph.values[input].producer].push_back(NodeId(i));
  IdVector<NodeId, RegionId> into(graph.nodes.size());  // for each moved node: its new region
  IdVector<NodeId, NodeId> target(graph.nodes.size());  // for moved nodes: the node before which to insert it; none: the end of the region
  IdVector<NodeId, std::vector<NodeId>> front(graph.nodes.size());                 // nodes to insert before a node, in reverse order
  IdVector<RegionId, std::vector<NodeId>> end(graph.regions.size());               // backwards
  for (auto sinking = sinkings.rbegin(); sinking != sinkings.rend(); ++sinking) {  // readers first
    NodeId first;
    for (const NodeId reader : readers[sinking->node]) {
      const NodeId at = into[reader].valid() ? target[reader] : reader;
      const RegionId region = at.valid() ? graph.nodes[at].region : into[reader];
      const NodeId held = region == sinking->into ? at : holder(graph, region, sinking->into);
      if (held.valid() && (!first.valid() || place[held] < place[first])) first = held;
    }
    into[sinking->node] = sinking->into;
    target[sinking->node] = first;
    (first.valid() ? front[first] : end[sinking->into]).push_back(sinking->node);
  }
  for (std::size_t r = 0; r < graph.regions.size(); ++r) {
    std::vector<NodeId> nodes;
    for (const NodeId id : graph.regions[RegionId(r)].nodes) {
      if (into[id].valid()) continue;
      nodes.insert(nodes.end(), front[id].rbegin(), front[id].rend());
      nodes.push_back(id);
    }
    nodes.insert(nodes.end(), end[RegionId(r)].rbegin(), end[RegionId(r)].rend());
    graph.regions[RegionId(r)].nodes = std::move(nodes);
  }
  for (const Sinking& sinking : sinkings) {
    Node& node = graph.nodes[sinking.node];
    node.region = sinking.into;
    for (const ValueId result : node.results) graph.values[result].region = sinking.into;
  }
  return in_program_order(std::move(graph));
}

}  // namespace cleave
