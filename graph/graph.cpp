#include "graph/graph.h"

namespace cleave {

std::string_view to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::operation: return "operation";
    case NodeKind::input: return "input";
    case NodeKind::parameter: return "parameter";
    case NodeKind::constant: return "constant";
    case NodeKind::for_loop: return "for";
    case NodeKind::while_loop: return "while";
    case NodeKind::branch: return "if";
    case NodeKind::counter: return "counter";
    case NodeKind::carried: return "carried";
    case NodeKind::merge: return "merge";
  }
  return "";
}

std::string_view to_string(RegionKind kind) {
  switch (kind) {
    case RegionKind::root: return "root";
    case RegionKind::for_body: return "for";
    case RegionKind::while_condition: return "condition";
    case RegionKind::while_body: return "while";
    case RegionKind::then_arm: return "then";
    case RegionKind::else_arm: return "else";
  }
  return "";
}

Graph::Graph() {
  regions.push_back({});
}

std::string_view Graph::op_name(NodeId node) const {
  const Node& n = nodes[node];
  return n.op ? std::string_view(n.op->name) : to_string(n.kind);
}

bool Node::means(ValueId value) const {
  bool any = false;
  for (std::size_t i = 0; i < meant.size(); ++i) {
    if (inputs[i] != value) continue;
    if (!meant[i]) return false;
    any = true;
  }
  return any;
}

const HostFunction* Node::host_function() const {
  for (const auto& [name, value] : attributes) {
    const auto* function = std::get_if<std::shared_ptr<const HostFunction>>(&value);
    if (function && *function) return function->get();
  }
  return nullptr;
}

Purity Graph::purity(NodeId node) const {
  const Node& n = nodes[node];
  return n.op ? n.op->purity_for(n.attributes) : Purity::pure;
}

std::string Graph::display_name(NodeId node) const {
  const Node& n = nodes[node];
  if (!n.results.empty() && !values[n.results.front()].name.empty()) return values[n.results.front()].name;
  if (const HostFunction* function = n.host_function(); function && !function->name.empty()) return function->name;
  return std::string(op_name(node));
}

bool Graph::within(RegionId inner, RegionId outer) const {
  while (inner.valid() && inner != outer) inner = regions[inner].parent;
  return inner.valid();
}

int Graph::depth(RegionId region) const {
  int depth = 0;
  for (RegionId parent = regions[region].parent; parent.valid(); parent = regions[parent].parent) ++depth;
  return depth;
}

IdVector<RegionId, double> region_frequencies(const Graph& graph) {
  IdVector<RegionId, double> frequencies(graph.regions.size(), 1.0);
  for (std::size_t i = 1; i < graph.regions.size(); ++i) {  // parents come before their children
    const Region& region = graph.regions[RegionId(i)];
    const Node& owner = graph.nodes[region.owner];
    const double around = frequencies[owner.region];
    double& frequency = frequencies[RegionId(i)];
    switch (region.kind) {
      case RegionKind::root: break;
      case RegionKind::for_body:
      case RegionKind::while_body: frequency = around * owner.expected; break;
      case RegionKind::while_condition: frequency = around * (owner.expected + 1); break;
      case RegionKind::then_arm: frequency = around * owner.expected; break;
      case RegionKind::else_arm: frequency = around * (1 - owner.expected); break;
    }
  }
  return frequencies;
}

bool frequency_assumed(const Graph& graph, RegionId region) {
  const NodeId owner = graph.regions[region].owner;
  return owner.valid() && graph.nodes[owner].assumed;
}

}  // namespace cleave
