#include "partitioner/report/placed_things.h"

namespace cleave::planner {
namespace {

std::string scope_path(const Graph& graph, const IdVector<NodeId, std::string>& paths, RegionId id) {
  const Region& region = graph.regions[id];
  if (!region.owner.valid()) return "program";
  const bool body = region.kind == RegionKind::for_body || region.kind == RegionKind::while_body;
  return paths[region.owner] + (body ? "" : "/" + std::string(to_string(region.kind)));
}

}  // namespace

PlacedThings placed_things(const Plan& plan) {
  const Graph& graph = *plan.graph;
  PlacedThings things;
  things.statements = std::make_shared<const StatementPaths>(graph);
  things.paths = things.statements->of_nodes(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation) things.operations.emplace(things.paths[NodeId(i)], NodeId(i));
  for (const Transfer& transfer : plan.transfers.items) {
    const Value& value = graph.values[transfer.value];
    const std::string result = value.result == 0 ? "" : ":" + std::to_string(value.result);
    things.moves.push_back(
        {things.paths[value.producer] + result, to_string(transfer.to), scope_path(graph, things.paths, transfer.region)});
  }
  return things;
}

Sides sides_of(const Plan& plan, NodeId node) {
  const bool host = plan.placement.has_copy(node.index, kHost), accelerator = plan.placement.has_copy(node.index, kAccelerator);
  return (host ? to_string(kHost) : "") + (host && accelerator ? "," : "") + (accelerator ? to_string(kAccelerator) : "");
}

std::string side_phrase(std::string_view sides) {
  if (sides.find(',') != std::string_view::npos) return "on both sides";
  return sides == "host" ? "on the host" : "on the accelerator";
}

}  // namespace cleave::planner
