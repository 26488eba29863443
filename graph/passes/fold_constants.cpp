#include "graph/passes/fold_constants.h"

#include "graph/passes/renumber.h"

namespace cleave {
namespace {

constexpr std::int64_t kFoldElements = 4096;

bool may_fold(const Node& node) {
  return node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure && !node.pin.any() &&
         node.op->moves_to == Side::none && !node.host_function() && !node.inputs.empty() && node.results.size() == 1;
}

/// The constant operands; nothing if one is not a constant, or if the result would be larger than the operands.
std::optional<std::vector<Array>> constant_operands(const Graph& graph, const Node& node, const TensorType& type) {
  if (type.elements() > kFoldElements) return std::nullopt;
  std::vector<Array> inputs;
  std::int64_t bytes = 8;
  for (const ValueId input : node.inputs) {
    const Node& producer = graph.producer(input);
    if (producer.kind != NodeKind::constant) return std::nullopt;
    inputs.push_back(producer.attributes.get<Array>("value"));
    bytes += inputs.back().type().bytes();
  }
  if (type.bytes() > bytes) return std::nullopt;
  return inputs;
}

void fold(const Graph& graph, Node& node) {
  if (!may_fold(node)) return;
  const TensorType& type = graph.values[node.results[0]].type;
  const auto inputs = constant_operands(graph, node, type);
  if (!inputs) return;
  Array result(type);
  const OpContext context{[](std::string_view) {}};
  if (!node.op->reference({node.attributes, *inputs, {&result, 1}, context}).ok() || result.type() != type) return;
  node.kind = NodeKind::constant;
  node.op = nullptr;
  node.inputs.clear();
  node.attributes = {};
  node.attributes.set("value", std::move(result));
}

}  // namespace

Graph fold_constants(Graph graph) {
  for (const NodeId node : program_order(graph).nodes) fold(graph, graph.nodes[node]);
  return graph;
}

}  // namespace cleave
