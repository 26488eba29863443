#include "partitioner/compile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/passes/absorb_marks.h"
#include "graph/passes/sink.h"
#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/refine.h"
#include "partitioner/apply/rounds.h"
#include "partitioner/apply/trials.h"
#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/placed_fusion.h"
#include "partitioner/machine/profile_keys.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/report/transfer_diagnostics.h"
#include "partitioner/worker_cures.h"

namespace cleave::planner {
namespace {

/// Records how long each step of planning takes.
class StepTimer {
 public:
  explicit StepTimer(std::vector<StepTime>& times) : times_(times) {}
  /// Records the time since the previous call under the name `step`.
  void done(const char* step) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({step, std::chrono::duration<double>(now - start_).count()});
    start_ = now;
  }

 private:
  std::vector<StepTime>& times_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Applies the profile after the passes, because it was recorded on the program as it runs.
std::shared_ptr<const Graph> prepare_graph(const Graph& graph, const PlanOptions& options, std::vector<StepTime>& times) {
  Graph prepared = absorb_marks(graph);
  PassOptions passes = options.passes;
  passes.workers = options.workers;
  if (options.simplify) prepared = run_passes(std::move(prepared), passes, &times);
  if (!options.costs.profile.expected.empty()) prepared = apply_profile(prepared, options.costs.profile);
  return std::make_shared<const Graph>(std::move(prepared));
}

/// Whether operations may be hoisted out of loops and sunk into them.
bool moves_in_loops(const PlanOptions& options) {
  return options.simplify && !options.passes.disabled.contains("hoist-invariant");
}

/// The diagnostics found while reading the model, filtered by the flags: by those of their kind, or by those that hold for all warnings.
Diagnostics said_while_reading(const Diagnostics& said, const DiagnosticOptions& options) {
  Diagnostics kept;
  for (Diagnostic each : said) {
    if (!info(each.kind).always_error) {
      const std::optional<Severity> severity = options.severity_of(each.kind);
      if (!severity) continue;
      if (each.severity != Severity::allowed) each.severity = *severity;
      kept.add(std::move(each));
      continue;
    }
    if (each.severity != Severity::error && options.no_warnings) continue;
    if (each.severity == Severity::warning && options.all_as_error) each.severity = Severity::error;
    kept.add(std::move(each));
  }
  return kept;
}

/// Adds remarks on times in the profile that have no sample counts, or that are from preempted samples only.
void check_samples(const ProfileFit& fit, Diagnostics& diagnostics) {
  const auto say = [&](std::size_t count, const char* what) {
    if (count == 0) return;
    diagnostics.add({DiagnosticKind::file,
                     Severity::remark,
                     std::to_string(count) + " of the " + std::to_string(fit.host_seconds) + " times of operations in the profile " + what +
                         "; `cleave run --runs 5 --profile FILE` observes them anew",
                     {},
                     0,
                     {}});
  };
  say(fit.without_samples, "come without counts and spreads, as earlier versions wrote them: they are taken as they are");
  say(fit.preempted, "are of preempted samples alone, and may be too long");
}

/// Advises the removal of each statement whose result is never read.
void advise_removal(const Diagnostics& said, std::vector<Advice>& advice) {
  for (const Diagnostic& each : said)
    if (each.kind == DiagnosticKind::unused && each.severity != Severity::allowed)
      advice.push_back({Advice::Action::remove_statement,
                        {{each.location, "", {}}},
                        {},
                        0,
                        Advice::kInMessage,
                        {each.kind, each.location, each.message}});
}

/// Warns if the profile has entries that do not belong to this program.
void check_profile(const Graph& graph, const PlanOptions& options, Diagnostics& diagnostics) {
  const Profile& profile = options.costs.profile;
  if ((profile.expected.empty() && profile.host_seconds.empty()) || options.diagnostics.no_warnings) return;
  const ProfileFit fit = profile_fit(graph, profile);
  check_samples(fit, diagnostics);
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
    notes.push_back(
        {"this profile names operations by their lines (format 1); record it again with `cleave run --profile FILE`, and it survives edits",
         {},
         0});
  diagnostics.add({DiagnosticKind::file,
                   options.diagnostics.all_as_error ? Severity::error : Severity::warning,
                   std::move(message),
                   {},
                   0,
                   std::move(notes)});
}

/// The optimal placement of the same graph under another policy, without regard to memory. Empty if there is none.
std::optional<Placement> placement_under(Policy policy, const Plan& plan, CostModel costs) {
  costs.policy = policy;
  Diagnostics ignored;
  const CostedProblem costed = under_policy(*plan.graph, costs, plan.costed, ignored);
  if (ignored.has_errors()) return std::nullopt;
  Result<Placement> placement = solve(costed.problem);
  return placement ? std::optional(std::move(*placement)) : std::nullopt;
}

/// A lower bound on the cost of every placement, whichever operations are fused, and wherever operations that can be sunk into a loop are
/// computed. The bound ignores a restricting policy, so that the gap shows how far its placement is from the optimum. (The cost under the
/// host policy, which ignores pins, may be lower than the bound.)
double find_bound(const Plan& plan, CostModel costs, const Sinkable& sinkable, const Placement& placement) {
  const bool restricted = plan.policy == Policy::host || plan.policy == Policy::accelerator;
  const bool fuses = costs.host_fuses || costs.accelerator_fuses;
  if (!restricted && !fuses) return placement.bound_seconds;
  CostedProblem free;
  if (restricted) {
    costs.policy = Policy::optimal;
    Diagnostics ignored;
    free = under_policy(*plan.graph, costs, plan.costed, ignored);
    if (ignored.has_errors()) return placement.bound_seconds;
  }
  const CostedProblem& costed = restricted ? free : plan.costed;
  const Result<Placement> least =
      fuses ? solve(with_optimistic_fusion(*plan.graph, Dataflow(*plan.graph), sinkable, costs, costed)) : solve(costed.problem);
  return least ? least->bound_seconds : placement.bound_seconds;
}

/// Whether some operation is on the host only.
bool stays_in_part(const Graph& graph, const Placement& placement) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation && !placement.has_copy(i, kAccelerator)) return true;
  return false;
}

/// Solves the baselines that an optimum is compared with: everything on the host, everything on the accelerator.
std::vector<Placement> solve_baselines(Plan& plan, const PlanOptions& options) {
  std::vector<Placement> baselines;
  for (auto [policy, seconds] : {std::pair(Policy::host, &plan.all_host_seconds), {Policy::accelerator, &plan.all_accelerator_seconds}}) {
    if (policy == plan.policy) continue;
    *seconds = std::numeric_limits<double>::quiet_NaN();  // becomes null in JSON if there is no such placement
    std::optional<Placement> placement = placement_under(policy, plan, options.costs);
    if (!placement) continue;
    *seconds = placement->objective_seconds;
    if (policy == Policy::accelerator) plan.all_accelerator_in_part = stays_in_part(*plan.graph, *placement);
    baselines.push_back(std::move(*placement));
  }
  return baselines;
}

/// Sinks operations in front of loops into them if they cost less there as parts of their readers' kernels. The plan then is one of the
/// sunk graph.
void sink_into_loops(Plan& plan, const PlanOptions& options, const Sinkable& sinkable, Placement& optimum,
                     std::vector<Placement>& baselines) {
  constexpr double kWorthwhile = 1e-9;
  const std::vector<Sinking> sinkings = worth_sinking(*plan.graph, sinkable, options.costs, plan.costed, optimum);
  if (sinkings.empty()) return;
  auto graph = std::make_shared<const Graph>(sink(*plan.graph, sinkings));
  Diagnostics ignored;  // the pins' diagnostics were reported before
  CostedProblem costed = make_problem(*graph, options.costs, ignored);
  costed.workers = options.workers;
  CostedProblem grouped = costed;
  Result<Placement> sunk = solve_in_rounds(*graph, options.costs, grouped);
  if (!sunk || sunk->objective_seconds >= optimum.objective_seconds * (1 - kWorthwhile)) return;
  plan.graph = std::move(graph);
  plan.costed = costed;
  baselines = solve_baselines(plan, options);
  plan.costed = std::move(grouped);
  optimum = *std::move(sunk);
}

/// Sets bound and gap of a placement. Its cost may be below the bound under the host policy, which ignores pins.
void bound_by(double seconds, Placement& placement) {
  constexpr double kRounding = 1e-9;
  const double over = placement.objective_seconds - seconds, rounding = kRounding * placement.objective_seconds;
  placement.bound_seconds = std::abs(over) <= rounding ? placement.objective_seconds : seconds;
  placement.gap = over > rounding ? over / placement.objective_seconds : 0;
}

/// Predicts the times of the baselines. The optimum minimizes the sum of work and transfers, so a baseline that overlaps better may be
/// faster.
void predict_baselines(Plan& plan, const PlannedGraph& planned, std::vector<Placement> baselines) {
  const bool pinned = std::any_of(plan.graph->nodes.begin(), plan.graph->nodes.end(),
                                  [](const Node& node) { return node.kind == NodeKind::operation && node.pin.side == Side::accelerator; });
  for (Placement& baseline : baselines) {
    const bool host = std::none_of(baseline.on_accelerator.begin(), baseline.on_accelerator.end(), [](auto on) { return on != 0; });
    if (host && !calls_run_beside(*planned.graph, planned.costed.workers)) {
      // Steps run one after the other and nothing is transferred, so the cost is the time. But this baseline ignores pins.
      if (!pinned) plan.all_host_predicted_seconds = baseline.objective_seconds;
      continue;
    }
    if (host && pinned) continue;
    WorkedOutPlan worked_out = work_out(planned, std::move(baseline));
    planned.deepen(worked_out, planned.costed);
    if (planned.fits(worked_out.program))
      (host ? plan.all_host_predicted_seconds : plan.all_accelerator_predicted_seconds) = worked_out.schedule.seconds;
  }
}

/// Replaces a plan that does not fit into the accelerator's memory. The costs then name memory as the cause of what only it keeps on the
/// host.
Status fit(Plan& plan, WorkedOutPlan& chosen, const PlanOptions& options, double memory_bytes) {
  Result<FittedPlan> fitted = fit_memory(plan.graph, plan.costed, chosen, options.find_peak, memory_bytes);
  if (!fitted) return fitted.error();
  chosen = std::move(fitted->plan);
  plan.costed.problem.accelerator_memory_bytes = fitted->capacity_bytes;
  plan.memory_shortage = std::move(fitted->shortage);
  for (const NodeId node : fitted->kept_off) plan.costed.forced[node.index] = Cause::memory;
  return {};
}

/// Adds the cure of enough memory if the operation to blame is on the host only for lack of memory.
void add_memory_cure(Plan& plan) {
  Account& account = plan.account;
  if (!plan.memory_shortage || !account.blamed || plan.costed.forced[account.blamed.index] != Cause::memory) return;
  const double seconds = plan.memory_shortage->seconds;
  if (seconds < kCureHelps * account.seconds) account.cures.insert(account.cures.begin(), {Cure::Kind::memory, 0, seconds});
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
  advise_removal(plan.diagnostics, plan.advice);
  if (!graph.ok()) {
    plan.graph = std::make_shared<const Graph>(graph);
    return plan;
  }
  plan.graph = prepare_graph(graph, options, plan.times);
  StepTimer timer(plan.times);
  plan.costed = make_problem(*plan.graph, options.costs, plan.diagnostics);
  plan.costed.workers = options.workers;
  if (!plan.ok()) return plan;
  check_profile(*plan.graph, options, plan.diagnostics);
  timer.done("costs");

  std::vector<Placement> baselines = solve_baselines(plan, options);
  timer.done("baselines");

  Result<Placement> optimum = solve_in_rounds(*plan.graph, options.costs, plan.costed);
  if (!optimum) return refuse(plan, optimum.error()), plan;
  timer.done("minimum-cut");
  const std::shared_ptr<const Graph> hoisted = plan.graph;
  const std::shared_ptr<const ValueUses> uses = plan.costed.uses;
  const Sinkable sinkable = moves_in_loops(options) ? Sinkable(*hoisted, *uses, plan.costed.frequency) : Sinkable(*hoisted);
  const double bound_seconds = find_bound(plan, options.costs, sinkable, *optimum);
  timer.done("bound");
  if (sinkable.any()) {
    sink_into_loops(plan, options, sinkable, *optimum, baselines);
    timer.done("sink-into-loops");
  }
  bound_by(bound_seconds, *optimum);

  const double memory_bytes = plan.machine.accelerators.empty() ? 0 : plan.machine.accelerators[0].memory_bytes;
  const auto fits = [&](const Program& program) { return fits_memory(program, options.find_peak, memory_bytes); };
  const auto deepen = [&](WorkedOutPlan& one, const CostedProblem& costed) {
    give_depths(one, costed, plan.find_peak, plan.machine.host.memory_bytes, options.channel_depth);
  };
  const PlannedGraph planned{plan.graph, plan.costed, fits, deepen};
  WorkedOutPlan chosen = work_out(planned, std::move(*optimum));  // transfers, program, schedule
  timer.done("transfers-and-split");

  if (!fits(chosen.program)) {
    if (Status fitted = fit(plan, chosen, options, memory_bytes); !fitted) return refuse(plan, fitted.error()), plan;
    timer.done("fit-memory");
  }
  if (plan.policy == Policy::fastest) {
    chosen = refine(planned, std::move(chosen), baselines, {.fits = fits});
    timer.done("refine");
  }

  plan.depths = give_depths(chosen, plan.costed, plan.find_peak, plan.machine.host.memory_bytes, options.channel_depth);
  timer.done("channel-depths");
  predict_baselines(plan, planned, std::move(baselines));
  timer.done("predict-baselines");

  adopt(plan, chosen);
  bound_by(bound_seconds, plan.placement);
  if (!options.accounts) return plan;
  const HostFlow flow(*plan.graph, *plan.costed.uses, plan.placement, plan.transfers);
  plan.round_trips = find_round_trips(*plan.graph, plan.costed, plan.placement, plan.transfers, flow);
  find_hidden(plan.program, plan.costed, plan.transfers, plan.round_trips);
  timer.done("round-trips");
  plan.account = find_account(plan.program, plan.costed, plan.transfers, plan.round_trips, flow);
  add_memory_cure(plan);
  if (options.tries_workers) try_workers(graph, options, plan);
  timer.done("account");
  Trials trials(planned, options.costs, plan.predicted_seconds);
  plan.diagnostics.append(diagnose(plan, chosen.schedule, trials, options.diagnostics, plan.advice));
  timer.done("diagnostics");
  return plan;
}

/// The plan returned if planning itself runs out of memory: without a program.
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
