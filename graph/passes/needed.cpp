#include "graph/passes/needed.h"

#include "graph/trips.h"

namespace cleave {

NeededValues::NeededValues(const Graph& graph, std::span<const ValueId> also_read)
    : graph_(graph), nodes_(graph.nodes.size(), false), values_(graph.values.size(), false) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.purity(NodeId(i)) == Purity::effect) need_node(NodeId(i));
  for (const Output& output : graph.outputs) need(output.value);
  for (const ValueId value : also_read) need(value);
  while (!work_.empty()) {
    const ValueId value = work_.back();
    work_.pop_back();
    read(value);
  }
}

void NeededValues::need(ValueId value) {
  if (!value.valid() || values_[value]) return;
  values_[value] = true;
  work_.push_back(value);
}

/// Marks a node, and the loops and branches around it, as needed.
void NeededValues::need_node(NodeId id) {
  if (!id.valid() || nodes_[id]) return;
  nodes_[id] = true;
  const Node& node = graph_.nodes[id];
  need_node(node.owner);
  need_node(graph_.regions[node.region].owner);
  for (const RegionId region : node.regions) need(graph_.regions[region].predicate);
  if (node.kind == NodeKind::carried) return;
  for (const ValueId input : node.inputs) need(input);
}

void NeededValues::read(ValueId value) {
  const NodeId id = graph_.values[value].producer;
  need_node(id);
  const Node& node = graph_.nodes[id];
  if (node.kind != NodeKind::carried) return;
  const bool inside = graph_.values[value].result == 0;
  need(node.inputs[1]);
  if (inside || !has_trip(graph_.nodes[node.owner])) need(node.inputs[0]);
}

}  // namespace cleave
