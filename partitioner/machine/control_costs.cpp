#include "partitioner/machine/control_costs.h"

namespace cleave::planner {
namespace {

std::int32_t index_of(RegionId region) {
  return static_cast<std::int32_t>(region.index);
}

/// By control node: bound on the cost per run of its copy on the host: its iterations, and the transfers of predicates and trip counts to
/// the host.
std::vector<double> host_prices(const Graph& graph, const PlacementProblem& problem) {
  std::vector<double> prices(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (is_control(graph.nodes[NodeId(i)].kind))
      prices[i] = problem.regions[problem.nodes[i].region].frequency * problem.nodes[i].host_seconds;
  for (const PlacementProblem::Use& use : problem.uses) {
    const auto reader = static_cast<std::size_t>(use.node);
    if (reader < graph.nodes.size() && is_control(graph.nodes[NodeId(reader)].kind))
      prices[reader] += problem.regions[use.region].frequency * problem.values[use.value].accelerator_to_host_seconds;
  }
  return prices;
}

}  // namespace

void add_control(const Graph& graph, PlacementProblem& problem) {
  const std::vector<double> prices = host_prices(graph, problem);
  std::vector<std::int32_t> under_way(graph.nodes.size(), -1);  // by control node: index of the value that says that it is being executed
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (!is_control(node.kind)) continue;
    under_way[i] = static_cast<std::int32_t>(problem.values.size());
    const double frequency = problem.regions[index_of(node.region)].frequency;
    problem.values.push_back({static_cast<std::int32_t>(i), index_of(node.region), 0, frequency > 0 ? 2 * prices[i] / frequency : 0});
  }
  const auto needs = [&](std::size_t node, NodeId control) {
    problem.uses.push_back({under_way[control.index], static_cast<std::int32_t>(node), index_of(graph.nodes[control].region)});
  };
  for (std::size_t r = 1; r < graph.regions.size(); ++r) {
    const Region& region = graph.regions[RegionId(r)];
    problem.regions[r].driver = static_cast<std::int32_t>(region.owner.index);
    for (const NodeId inside : region.nodes) needs(inside.index, region.owner);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::merge) needs(i, graph.nodes[NodeId(i)].owner);
}

}  // namespace cleave::planner
