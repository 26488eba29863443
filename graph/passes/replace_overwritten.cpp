#include "graph/passes/replace_overwritten.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/op.h"
#include "graph/passes/needed.h"
#include "graph/passes/renumber.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

/// Whether the value is computed without operands.
bool is_literal(const Graph& graph, ValueId value) {
  const Node& producer = graph.nodes[graph.values[value].producer];
  return producer.kind == NodeKind::constant || (producer.kind == NodeKind::operation && producer.inputs.empty());
}

/// Adds zeros of `type` in front of a loop.
ValueId add_zeros(Graph& graph, NodeId loop, const TensorType& type, const SourceLocation& location) {
  const RegionId region = graph.nodes[loop].region;
  const NodeId id = graph.nodes.push_back(Node{});
  const ValueId value = graph.values.push_back(Value{type, id, 0, region, ""});
  Node& node = graph.nodes[id];
  node.op = &op::zeros;
  node.region = region;
  node.results = {value};
  node.attributes.set("shape", std::vector<std::int64_t>(type.shape.begin(), type.shape.end()));
  node.attributes.set("dtype", type.dtype);
  node.location = location;
  std::vector<NodeId>& nodes = graph.regions[region].nodes;
  nodes.insert(std::find(nodes.begin(), nodes.end(), loop), id);
  return value;
}

}  // namespace

Graph replace_overwritten(Graph graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return node.kind == NodeKind::carried; })) return graph;
  const NeededValues needed(graph);
  const std::size_t count = graph.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id(i);
    if (graph.nodes[id].kind != NodeKind::carried || !needed.node(id)) continue;
    const ValueId initial = graph.nodes[id].inputs[0];
    if (needed.value(initial) || is_literal(graph, initial)) continue;
    const SourceLocation location = graph.producer(initial).location;
    graph.nodes[id].inputs[0] = add_zeros(graph, graph.nodes[id].owner, TensorType(graph.values[initial].type), location);
  }
  return graph.nodes.size() == count ? std::move(graph) : in_program_order(std::move(graph));
}

}  // namespace cleave
