#include "partitioner/compile.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/host_function.h"
#include "partitioner/apply/refine.h"
#include "partitioner/apply/trials.h"
#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/profile_keys.h"
#include "partitioner/report/transfer_diagnostics.h"

namespace cleave::planner {
namespace {

/// Notes how long the steps of planning take.
class StepTimer {
 public:
  explicit StepTimer(std::vector<StepTime>& times) : times_(times) {}
  /// What was done since the step before.
  void done(const char* step) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({step, std::chrono::duration<double>(now - start_).count()});
    start_ = now;
  }

 private:
  std::vector<StepTime>& times_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A profile goes by the program as it runs, as it was observed on that.
std::shared_ptr<const Graph> prepare_graph(const Graph& graph, const PlanOptions& options, std::vector<StepTime>& times) {
  Graph prepared = options.simplify ? run_passes(graph, options.passes, &times) : graph;
  if (!options.costs.profile.expected.empty()) prepared = apply_profile(prepared, options.costs.profile);
  return std::make_shared<const Graph>(std::move(prepared));
}

/// What a reader found to say, as the flags that hold for all warnings would have it.
Diagnostics said_while_reading(const Diagnostics& said, const DiagnosticOptions& options) {
  Diagnostics kept;
  for (Diagnostic each : said) {
    if (each.severity == Severity::warning && options.no_warnings) continue;
    if (each.severity == Severity::warning && options.all_as_error) each.severity = Severity::error;
    kept.add(std::move(each));
  }
  return kept;
}

/// What a profile has and the program has not.
void check_profile(const Graph& graph, const PlanOptions& options, Diagnostics& diagnostics) {
  const Profile& profile = options.costs.profile;
  if ((profile.expected.empty() && profile.host_seconds.empty()) || options.diagnostics.no_warnings) return;
  const ProfileFit fit = profile_fit(graph, profile);
  const std::size_t all = fit.expected + fit.host_seconds, there = fit.expected_there + fit.host_seconds_there;
  if (there == all) return;
  const auto part = [](std::size_t is, std::size_t of, const char* what) {
    return std::to_string(of - is) + " of its " + std::to_string(of) + what;
  };
  std::string message = there == 0 ? "the profile fits nothing of this model" : "the profile fits this model in part";
  message += ": " + part(fit.expected_there, fit.expected, " loops and branches") + " and " +
             part(fit.host_seconds_there, fit.host_seconds, " times of operations") + " are not in it";
  std::vector<Note> notes;
  if (fit.by_position)
    notes.push_back({"the file goes by lines, as version 1 did; one that is observed anew outlives inserted lines", {}, 0});
  diagnostics.add({DiagnosticKind::file,
                   options.diagnostics.all_as_error ? Severity::error : Severity::warning,
                   std::move(message),
                   {},
                   0,
                   std::move(notes)});
}

/// Of the same graph under another policy, without regard to memory; nothing if there is none.
std::optional<Placement> placement_under(Policy policy, const Plan& plan, CostModel costs) {
  costs.policy = policy;
  Diagnostics ignored;
  const CostedProblem costed = under_policy(*plan.graph, costs, plan.costed, ignored);
  if (ignored.has_errors()) return std::nullopt;
  Result<Placement> placement = solve(costed.problem);
  return placement ? std::optional(std::move(*placement)) : std::nullopt;
}

/// The plans that an optimum is compared with: everything on the host, everything on the accelerator.
std::vector<Placement> solve_baselines(Plan& plan, const PlanOptions& options) {
  std::vector<Placement> baselines;
  for (auto [policy, seconds] : {std::pair(Policy::host, &plan.all_host_seconds), {Policy::accelerator, &plan.all_accelerator_seconds}}) {
    if (policy == plan.policy) continue;
    *seconds = std::numeric_limits<double>::quiet_NaN();  // null in JSON, should there be none
    std::optional<Placement> placement = placement_under(policy, plan, options.costs);
    if (!placement) continue;
    *seconds = placement->objective_seconds;
    baselines.push_back(std::move(*placement));
  }
  return baselines;
}

/// Bound and gap are those of the free problem, whatever the policy: how far it is from the optimum is to show. The host's leaves pins
/// aside, and may be below.
void bound_by(const Placement& optimum, Plan& plan) {
  constexpr double kRounding = 1e-9;
  Placement& placement = plan.placement;
  plan.unlimited_bound_seconds = placement.bound_seconds = optimum.bound_seconds;
  const double over = placement.objective_seconds - optimum.objective_seconds;
  placement.gap = over > kRounding * placement.objective_seconds ? over / placement.objective_seconds : 0;
}

bool calls_beside(const PlannedGraph& planned) {
  return planned.costed.workers > 1 && std::any_of(planned.graph->nodes.begin(), planned.graph->nodes.end(), [](const Node& node) {
           return node.host_function() && node.host_function()->may_overlap();
         });
}

/// The optimum is one of the sum of work and transfers. What overlaps worse may take longer than one of these.
void predict_baselines(Plan& plan, const PlannedGraph& planned, std::vector<Placement> baselines) {
  const bool pinned = std::any_of(plan.graph->nodes.begin(), plan.graph->nodes.end(),
                                  [](const Node& node) { return node.kind == NodeKind::operation && node.pin == Side::accelerator; });
  for (Placement& baseline : baselines) {
    const bool host = std::none_of(baseline.on_accelerator.begin(), baseline.on_accelerator.end(), [](auto on) { return on != 0; });
    if (host && !calls_beside(planned)) {  // one after the other, and nothing moves; but it leaves pins aside
      if (!pinned) plan.all_host_predicted_seconds = baseline.objective_seconds;
      continue;
    }
    if (host && pinned) continue;
    const WorkedOutPlan worked_out = work_out(planned, std::move(baseline));
    if (planned.fits(worked_out.program))
      (host ? plan.all_host_predicted_seconds : plan.all_accelerator_predicted_seconds) = worked_out.schedule.seconds;
  }
}

/// In place of what does not fit into the accelerator's memory. The costs then say what only the memory keeps on the host.
Status fit(Plan& plan, WorkedOutPlan& chosen, const PlanOptions& options, double memory_bytes) {
  Result<FittedPlan> fitted = fit_memory(plan.graph, plan.costed, chosen, options.find_peak, memory_bytes);
  if (!fitted) return fitted.error();
  chosen = std::move(fitted->plan);
  plan.costed.problem.accelerator_memory_bytes = fitted->capacity_bytes;
  plan.memory_shortage = std::move(fitted->shortage);
  for (const NodeId node : fitted->kept_off) plan.costed.forced[node.index] = Cause::memory;
  return {};
}

void refuse(Plan& plan, const Error& error) {
  plan.diagnostics.error(error.kind == ErrorKind::machine ? DiagnosticKind::machine : DiagnosticKind::placement, error.location,
                         error.message);
}

void adopt(Plan& plan, WorkedOutPlan& chosen) {
  plan.placement = std::move(chosen.placement);
  plan.transfers = std::move(chosen.transfers);
  plan.program = std::move(chosen.program);
  plan.transfer_times = chosen.schedule.transfers;
  plan.predicted_seconds = chosen.schedule.seconds;
  plan.predicted_wait_seconds = chosen.schedule.waiting.empty() ? 0 : chosen.schedule.waiting.front().wait_seconds;
  if (plan.policy == Policy::host) {
    plan.all_host_seconds = plan.placement.objective_seconds;
    plan.all_host_predicted_seconds = plan.predicted_seconds;
  }
  if (plan.policy == Policy::accelerator) {
    plan.all_accelerator_seconds = plan.placement.objective_seconds;
    plan.all_accelerator_predicted_seconds = plan.predicted_seconds;
  }
}

Plan make_plan(const Graph& graph, const PlanOptions& options) {
  Plan plan;
  plan.machine = options.costs.machine;
  plan.policy = options.costs.policy;
  plan.precision = options.costs.precision;
  plan.profile = options.costs.profile;
  plan.find_peak = options.find_peak;
  plan.diagnostics = said_while_reading(graph.diagnostics, options.diagnostics);
  plan.graph = std::make_shared<const Graph>(graph);
  if (!graph.ok()) return plan;

  plan.graph = prepare_graph(graph, options, plan.times);
  StepTimer timer(plan.times);
  plan.costed = make_problem(*plan.graph, options.costs, plan.diagnostics);
  plan.costed.workers = options.workers;
  if (!plan.ok()) return plan;
  check_profile(*plan.graph, options, plan.diagnostics);
  timer.done("costs");

  std::vector<Placement> baselines = solve_baselines(plan, options);
  const bool restricted = plan.policy == Policy::host || plan.policy == Policy::accelerator;
  const std::optional<Placement> free = restricted ? placement_under(Policy::optimal, plan, options.costs) : std::nullopt;
  timer.done("baselines");

  Result<Placement> optimum = solve(plan.costed.problem);
  if (!optimum) return refuse(plan, optimum.error()), plan;
  plan.unlimited_bound_seconds = optimum->bound_seconds;
  timer.done("minimum-cut");

  const double memory_bytes = plan.machine.accelerators.empty() ? 0 : plan.machine.accelerators[0].memory_bytes;
  const auto fits = [&](const Program& program) { return fits_memory(program, options.find_peak, memory_bytes); };
  const PlannedGraph planned{plan.graph, plan.costed, fits};
  WorkedOutPlan chosen = work_out(planned, std::move(*optimum));  // transfers, program, schedule
  timer.done("transfers-and-split");

  if (!fits(chosen.program)) {
    if (Status fitted = fit(plan, chosen, options, memory_bytes); !fitted) return refuse(plan, fitted.error()), plan;
    timer.done("fit-memory");
  }
  if (plan.policy == Policy::makespan) {
    chosen = refine(planned, std::move(chosen), baselines, {.fits = fits});
    timer.done("refine");
  }

  predict_baselines(plan, planned, std::move(baselines));
  timer.done("predict-baselines");

  adopt(plan, chosen);
  if (free) bound_by(*free, plan);
  plan.round_trips = find_round_trips(*plan.graph, plan.costed, plan.placement, plan.transfers);
  timer.done("round-trips");
  Trials trials(planned, options.costs, plan.predicted_seconds);
  plan.diagnostics.append(diagnose(plan, chosen.schedule, trials, options.diagnostics));
  timer.done("diagnostics");
  return plan;
}

/// Nothing was planned.
Plan without_memory(const PlanOptions& options) {
  Plan plan;
  plan.graph = std::make_shared<const Graph>();
  plan.machine = options.costs.machine;
  plan.policy = options.costs.policy;
  plan.diagnostics.error(DiagnosticKind::machine, {}, detail::out_of_memory().message);
  return plan;
}

}  // namespace

Plan plan(const Graph& graph, const PlanOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return make_plan(graph, options); }, [&] { return without_memory(options); });
}

}  // namespace cleave::planner
