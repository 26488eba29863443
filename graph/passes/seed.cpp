#include "graph/passes/seed.h"

namespace cleave {

Graph add_seed(const Graph& graph, std::int64_t n) {
  Graph result = graph;
  for (Node& node : result.nodes) {
    if (node.kind != NodeKind::parameter && node.kind != NodeKind::operation) continue;
    const auto* seed = node.attributes.get_if<std::int64_t>("seed");
    if (!seed) continue;
    const std::uint64_t sum = static_cast<std::uint64_t>(*seed) + static_cast<std::uint64_t>(n);
    node.attributes.set("seed", static_cast<std::int64_t>(sum));
  }
  return result;
}

}  // namespace cleave
