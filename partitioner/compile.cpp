#include "partitioner/compile.h"

#include "graph/simplify.h"
#include "partitioner/schedule.h"
#include "partitioner/split.h"
#include "partitioner/transfer_diagnostics.h"

namespace cleave {
namespace {

/// What the same graph costs a run under another policy.
double seconds_under(Policy policy, const Graph& graph, const Plan& plan, CostModel costs) {
  if (policy == plan.policy) return plan.placement.objective_seconds;
  costs.policy = policy;
  Diagnostics ignored;
  const CostedProblem costed = make_problem(graph, costs, ignored);
  if (ignored.has_errors()) return plan.placement.objective_seconds;
  const Result<Placement> placement = solve(costed.problem);
  return placement ? placement->objective_seconds : plan.placement.objective_seconds;
}

}  // namespace

Plan plan(const Graph& graph, const PlanOptions& options) {
  Plan plan;
  plan.machine = options.costs.machine;
  plan.policy = options.costs.policy;
  plan.diagnostics = graph.diagnostics;
  plan.graph = std::make_shared<const Graph>(graph);
  if (!graph.ok()) return plan;

  Graph profiled = apply_profile(graph, options.costs.profile);
  plan.graph = std::make_shared<const Graph>(options.simplify ? simplify(profiled) : std::move(profiled));
  plan.costed = make_problem(*plan.graph, options.costs, plan.diagnostics);
  if (!plan.ok()) return plan;
  Result<Placement> placement = solve(plan.costed.problem);
  if (!placement) {
    plan.diagnostics.error(Kind::placement, placement.error().location, placement.error().message);
    return plan;
  }
  plan.placement = std::move(*placement);
  plan.transfers = make_transfers(*plan.graph, plan.costed, plan.placement, plan.machine);
  plan.round_trips = find_round_trips(*plan.graph, plan.costed, plan.placement, plan.transfers);
  plan.program = split(plan.graph, plan.placement, plan.transfers);
  plan.all_host_seconds = seconds_under(Policy::host, *plan.graph, plan, options.costs);
  plan.all_accelerator_seconds = seconds_under(Policy::accelerator, *plan.graph, plan, options.costs);
  const Schedule schedule = predict(plan.program, plan.transfers, plan.costed);
  plan.predicted_seconds = schedule.seconds;
  plan.diagnostics.append(diagnose(plan, schedule, options.diagnostics));
  return plan;
}

}  // namespace cleave
