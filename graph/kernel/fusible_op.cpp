#include "graph/kernel/fusible_op.h"

#include <span>

namespace cleave::kernels {
namespace {

/// Whether the operation never runs on this side.
bool is_elsewhere(const Graph& graph, NodeId id, DeviceId side) {
  const Node& node = graph.nodes[id];
  if (side == kHost) return node.op->moves_to == Side::accelerator;
  return node.op->moves_to == Side::host || node.host_function() || graph.purity(id) == Purity::effect;
}

}  // namespace

bool is_fusible(const Graph& graph, NodeId id, DeviceId side) {
  const Node& node = graph.nodes[id];
  return node.kind == NodeKind::operation && node.results.size() == 1 && graph.purity(id) == Purity::pure && !is_elsewhere(graph, id, side);
}

bool computes_step(const OpDef& op) {
  return op.elementwise() || op.cost_class == CostClass::reduction;
}

bool only_moves(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.op->elementwise() || node.inputs.size() != 1) return false;
  if (!node.op->cost) return true;
  const TensorType &from = graph.values[node.inputs[0]].type, &to = graph.values[node.results[0]].type;
  return node.op->cost(std::span(&from, 1), std::span(&to, 1), node.attributes).flops == 0;
}

}  // namespace cleave::kernels
