#include "partitioner/advice/trials.h"

#include <algorithm>
#include <memory>

namespace cleave::planner {
namespace {

constexpr std::size_t kMostTrials = 40;
constexpr std::size_t kMostNodes = 20'000;       ///< of all programs planned in trials after the first
constexpr std::size_t kMostNodesAtAll = 50'000;  ///< of a program that is planned again for diagnostics

/// Moves nodes and their results in front of a loop.
void hoist(Graph& graph, std::span<const NodeId> nodes, NodeId loop) {
  const RegionId outside = graph.nodes[loop].region;
  for (const NodeId id : nodes) {
    std::vector<NodeId>& inside = graph.regions[graph.nodes[id].region].nodes;
    inside.erase(std::find(inside.begin(), inside.end(), id));
    graph.nodes[id].region = outside;
    for (const ValueId result : graph.nodes[id].results) graph.values[result].region = outside;
  }
  std::vector<NodeId>& around = graph.regions[outside].nodes;
  around.insert(std::find(around.begin(), around.end(), loop), nodes.begin(), nodes.end());
}

}  // namespace

bool Trials::may_try() const {
  const std::size_t nodes = planned_.graph->nodes.size();
  return tried_ < kMostTrials && nodes <= kMostNodesAtAll && (tried_ == 0 || (tried_ + 1) * nodes <= kMostNodes);
}

std::optional<double> Trials::saved_by_freeing(std::span<const NodeId> nodes) {
  if (!may_try()) return std::nullopt;
  ++tried_;
  const CostedProblem costed = as_if_free(*planned_.graph, model_, planned_.costed, nodes);
  return saved({planned_.graph, costed, planned_.fits, planned_.deepen});
}

std::optional<double> Trials::saved_by_unpinning(std::span<const NodeId> nodes) {
  if (!may_try()) return std::nullopt;
  ++tried_;
  Graph edited = *planned_.graph;
  for (const NodeId node : nodes) edited.nodes[node].pin = {};
  const auto graph = std::make_shared<const Graph>(std::move(edited));
  return saved_in(graph);
}

std::optional<double> Trials::saved_by_hoisting(std::span<const NodeId> nodes, NodeId loop) {
  if (!may_try()) return std::nullopt;
  ++tried_;
  Graph edited = *planned_.graph;
  hoist(edited, nodes, loop);
  const auto graph = std::make_shared<const Graph>(std::move(edited));
  return saved_in(graph);
}

std::optional<double> Trials::saved_in(const std::shared_ptr<const Graph>& edited) const {
  Diagnostics ignored;
  const CostedProblem costed = make_problem(*edited, model_, ignored);
  if (ignored.has_errors()) return std::nullopt;
  return saved({edited, costed, planned_.fits, planned_.deepen});
}

std::optional<double> Trials::saved(const PlannedGraph& edited) const {
  Result<Placement> placement = solve(edited.costed.problem);
  if (!placement) return std::nullopt;
  WorkedOutPlan plan = work_out(edited, std::move(*placement));
  if (edited.fits && !edited.fits(plan.program)) return std::nullopt;
  if (edited.deepen) edited.deepen(plan, edited.costed);
  return seconds_ - plan.schedule.seconds;
}

}  // namespace cleave::planner
