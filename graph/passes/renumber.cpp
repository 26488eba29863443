#include "graph/passes/renumber.h"

namespace cleave {
ProgramOrder program_order(const Graph& graph, const IdVector<NodeId, bool>* keep) {
  struct Open {
    RegionId region;
    std::size_t next = 0;
  };
  ProgramOrder order;
  order.nodes.reserve(graph.nodes.size());
  std::vector<Open> stack{{Graph::kRoot}};
  order.regions.push_back(Graph::kRoot);
  std::vector<std::pair<NodeId, std::size_t>> controls;  // open control nodes and their next region
  while (!stack.empty()) {
    Open& top = stack.back();
    const std::vector<NodeId>& nodes = graph.regions[top.region].nodes;
    if (top.next < nodes.size()) {
      NodeId node = nodes[top.next++];
      if (keep && !(*keep)[node]) continue;
      order.nodes.push_back(node);
      if (graph.nodes[node].regions.empty()) continue;
      controls.emplace_back(node, 0);
    } else {
      stack.pop_back();
      if (controls.empty()) break;
    }
    auto& [control, next] = controls.back();
    const std::vector<RegionId>& regions = graph.nodes[control].regions;
    if (next < regions.size()) {
      RegionId region = regions[next++];
      order.regions.push_back(region);
      stack.push_back({region});
    } else {
      controls.pop_back();
    }
  }
  return order;
}

Graph in_program_order(Graph graph, const IdVector<NodeId, bool>* keep) {
  const ProgramOrder order = program_order(graph, keep);
  IdVector<NodeId, NodeId> node_map(graph.nodes.size());
  IdVector<ValueId, ValueId> value_map(graph.values.size());
  IdVector<RegionId, RegionId> region_map(graph.regions.size());
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < order.nodes.size(); ++i) {
    node_map[order.nodes[i]] = NodeId(i);
    for (ValueId value : graph.nodes[order.nodes[i]].results) {
      value_map[value] = ValueId(values.size());
      values.push_back(value);
    }
  }
  for (std::size_t i = 0; i < order.regions.size(); ++i) region_map[order.regions[i]] = RegionId(i);
  auto map_value = [&](ValueId& value) {
    if (value.valid()) value = value_map[value];
  };

  Graph result;
  result.name = std::move(graph.name);
  result.limits = std::move(graph.limits);
  result.diagnostics = std::move(graph.diagnostics);
  result.nodes.reserve(order.nodes.size());
  for (NodeId id : order.nodes) {
    Node node = std::move(graph.nodes[id]);
    node.region = region_map[node.region];
    if (node.owner.valid()) node.owner = node_map[node.owner];
    for (ValueId& value : node.inputs) map_value(value);
    for (ValueId& value : node.results) map_value(value);
    for (RegionId& region : node.regions) region = region_map[region];
    result.nodes.push_back(std::move(node));
  }
  result.values.reserve(values.size());
  for (ValueId id : values) {
    Value value = std::move(graph.values[id]);
    value.producer = node_map[value.producer];
    value.region = region_map[value.region];
    result.values.push_back(std::move(value));
  }
  result.regions = {};
  for (RegionId id : order.regions) {
    Region region = std::move(graph.regions[id]);
    if (region.parent.valid()) region.parent = region_map[region.parent];
    if (region.owner.valid()) region.owner = node_map[region.owner];
    std::size_t kept = 0;
    for (NodeId node : region.nodes)
      if (!keep || (*keep)[node]) region.nodes[kept++] = node_map[node];
    region.nodes.resize(kept);
    map_value(region.predicate);
    result.regions.push_back(std::move(region));
  }
  for (Output& output : graph.outputs) map_value(output.value);
  result.outputs = std::move(graph.outputs);
  return result;
}

}  // namespace cleave
