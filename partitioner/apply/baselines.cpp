#include "partitioner/apply/baselines.h"

#include <algorithm>

#include "partitioner/apply/producers.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {
namespace {

/// The optimal placement of the same graph under another policy, without regard to memory. Empty if there is none.
std::optional<Placement> placement_under(Policy policy, const Graph& graph, CostModel model, const CostedProblem& costed) {
  model.policy = policy;
  Diagnostics ignored;
  const CostedProblem other = under_policy(graph, model, costed, ignored);
  if (ignored.has_errors()) return std::nullopt;
  Result<Placement> placement = solve(other.problem);
  return placement ? std::optional(std::move(*placement)) : std::nullopt;
}

/// Whether some operation is on the host only.
bool stays_in_part(const Graph& graph, const Placement& placement) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation && !placement.has_copy(i, kAccelerator)) return true;
  return false;
}

/// The predicted time of a placement with planned channel depths; NaN if it does not fit into memory.
double predicted_seconds(const PlannedGraph& planned, const Placement& placement) {
  WorkedOutPlan worked_out = work_out(planned, placement);
  planned.deepen(worked_out, planned.costed);
  return planned.fits(worked_out.program) ? worked_out.schedule.seconds : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<Placement> Baselines::placements() const {
  std::vector<Placement> placements;
  for (const Baseline* baseline : {&host, &accelerator})
    if (baseline->placement) placements.push_back(*baseline->placement);
  return placements;
}

Baselines solve_baselines(const Graph& graph, const CostModel& model, const CostedProblem& costed) {
  Baselines baselines;
  for (auto [policy, baseline] : {std::pair(Policy::host, &baselines.host), {Policy::accelerator, &baselines.accelerator}}) {
    if (policy == model.policy) continue;
    baseline->placement = placement_under(policy, graph, model, costed);
    if (baseline->placement) baseline->seconds = baseline->placement->objective_seconds;
  }
  const std::optional<Placement>& accelerator = baselines.accelerator.placement;
  baselines.accelerator.in_part = accelerator && stays_in_part(graph, *accelerator);
  return baselines;
}

Baselines predict_baselines(const PlannedGraph& planned, Baselines baselines) {
  const Graph& graph = *planned.graph;
  const bool pinned = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                  [](const Node& node) { return node.kind == NodeKind::operation && node.pin.side == Side::accelerator; });
  for (Baseline* baseline : {&baselines.host, &baselines.accelerator}) {
    if (!baseline->placement) continue;
    const std::vector<std::uint8_t>& on = baseline->placement->on_accelerator;
    const bool host = std::none_of(on.begin(), on.end(), [](auto copy) { return copy != 0; });
    Baseline& predicted = host ? baselines.host : baselines.accelerator;
    if (host && pinned) continue;  // this baseline ignores pins
    // Without calls beside others and data made ahead, steps run one after the other and nothing is transferred, so the cost is the time.
    predicted.predicted_seconds = host && !calls_run_beside(graph, planned.costed.workers) && !may_have_producers(graph, planned.costed)
                                      ? baseline->placement->objective_seconds
                                      : predicted_seconds(planned, *baseline->placement);
  }
  return baselines;
}

}  // namespace cleave::planner
