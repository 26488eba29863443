#include "partitioner/machine/scalar_work.h"

#include <algorithm>

namespace cleave::planner {
namespace {

using Scalar = std::vector<std::uint8_t>;

bool touches_scalars_only(const Graph& graph, const Node& node) {
  auto scalar = [&](ValueId value) { return graph.values[value].type.scalar(); };
  return std::all_of(node.inputs.begin(), node.inputs.end(), scalar) && std::all_of(node.results.begin(), node.results.end(), scalar);
}

void spread_from_tensors(const Graph& graph, const ValueUses& uses, Scalar& is_scalar) {
  std::vector<NodeId> pending;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (touches_scalars_only(graph, graph.nodes[NodeId(i)])) continue;
    is_scalar[i] = 0;
    pending.emplace_back(i);
  }
  while (!pending.empty()) {
    const Node& tensor = graph.nodes[pending.back()];
    pending.pop_back();
    for (const ValueId result : tensor.results) {
      for (const ValueUse& use : uses.of(result)) {
        if (use.kind == UseKind::output || !is_scalar[use.node.index]) continue;
        is_scalar[use.node.index] = 0;
        pending.push_back(use.node);
      }
    }
  }
}

void follow_predicates_back(const Graph& graph, Scalar& is_scalar) {
  std::vector<ValueId> wanted;
  for (const Region& region : graph.regions) {
    if (region.predicate.valid()) wanted.push_back(region.predicate);
  }
  for (const Node& node : graph.nodes) {
    if (is_control(node.kind)) wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
  }
  while (!wanted.empty()) {
    const NodeId producer = graph.values[wanted.back()].producer;
    wanted.pop_back();
    const Node& node = graph.nodes[producer];
    if (is_scalar[producer.index] || node.kind != NodeKind::operation || !touches_scalars_only(graph, node)) continue;
    is_scalar[producer.index] = 1;
    wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
  }
}

}  // namespace

ScalarWork::ScalarWork(const Graph& graph, const ValueUses& uses) : scalar_(graph.nodes.size(), 1) {
  spread_from_tensors(graph, uses, scalar_);
  follow_predicates_back(graph, scalar_);
}

}  // namespace cleave::planner
