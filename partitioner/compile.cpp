#include "partitioner/compile.h"

#include <limits>

#include "graph/passes/simplify.h"
#include "partitioner/apply/refine.h"
#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/report/transfer_diagnostics.h"

namespace cleave {
namespace {

/// Of the same graph under another policy, without regard to memory.
std::optional<Placement> placement_under(Policy policy, const Plan& plan, CostModel costs) {
  costs.policy = policy;
  Diagnostics ignored;
  const CostedProblem costed = make_problem(*plan.graph, costs, ignored);
  if (ignored.has_errors()) return std::nullopt;
  Result<Placement> placement = solve(costed.problem);
  return placement ? std::optional(std::move(*placement)) : std::nullopt;
}

/// The minimum cut, or what the policy and the accelerator's memory make of it.
Result<WorkedOutPlan> choose(Plan& plan, const PlanOptions& options, const std::vector<Placement>& baselines) {
  Result<Placement> placement = solve(plan.costed.problem);
  if (!placement) return placement.error();
  plan.unlimited_bound_seconds = placement->bound_seconds;
  const double memory = plan.machine.accelerators.empty() ? 0 : plan.machine.accelerators[0].memory_bytes;
  const auto fits = [&](const Program& program) { return fits_memory(program, options.find_peak, memory); };
  const PlannedGraph planned{plan.graph, plan.costed, plan.machine, fits};
  WorkedOutPlan candidate = planned.work_out(std::move(*placement));
  if (!fits(candidate.program)) {
    Result<WorkedOutPlan> fitting = fit_memory(plan.graph, plan.costed, plan.machine, candidate, options.find_peak, memory);
    if (!fitting) return fitting.error();
    candidate = std::move(*fitting);
  }
  if (plan.policy == Policy::makespan) candidate = refine(planned, std::move(candidate), baselines, {.fits = fits});
  return candidate;
}

/// What the machine file says and this version does not do.
void check_machine(const PlanOptions& options, Diagnostics& diagnostics) {
  const Machine& machine = options.costs.machine;
  if (machine.accelerators.empty() || machine.accelerators[0].control_flow == "none" || options.diagnostics.no_warnings) return;
  diagnostics.add({DiagnosticKind::unsupported,
                   options.diagnostics.all_as_error ? Severity::error : Severity::warning,
                   "`control_flow: " + machine.accelerators[0].control_flow + "` of the machine `" + machine.name +
                       "` is not supported yet and taken as `none`: the host drives every loop",
                   {},
                   0,
                   {}});
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
  check_machine(options, plan.diagnostics);
  std::vector<Placement> baselines;
  for (auto [policy, seconds] : {std::pair(Policy::host, &plan.all_host_seconds), {Policy::accelerator, &plan.all_accelerator_seconds}}) {
    if (policy == plan.policy) continue;
    *seconds = std::numeric_limits<double>::quiet_NaN();  // null in JSON, should there be none
    std::optional<Placement> placement = placement_under(policy, plan, options.costs);
    if (!placement) continue;
    *seconds = placement->objective_seconds;
    baselines.push_back(std::move(*placement));
  }
  Result<WorkedOutPlan> chosen = choose(plan, options, baselines);
  if (!chosen) {
    plan.diagnostics.error(DiagnosticKind::placement, chosen.error().location, chosen.error().message);
    return plan;
  }
  plan.placement = std::move(chosen->placement);
  plan.transfers = std::move(chosen->transfers);
  plan.program = std::move(chosen->program);
  plan.predicted_seconds = chosen->schedule.seconds;
  if (plan.policy == Policy::host) plan.all_host_seconds = plan.placement.objective_seconds;
  if (plan.policy == Policy::accelerator) plan.all_accelerator_seconds = plan.placement.objective_seconds;
  plan.round_trips = find_round_trips(*plan.graph, plan.costed, plan.placement, plan.transfers);
  plan.diagnostics.append(diagnose(plan, chosen->schedule, options.diagnostics));
  return plan;
}

}  // namespace cleave
