#include "partitioner/compile.h"

#include <array>
#include <chrono>
#include <utility>

#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/base/units.h"
#include "graph/gradient/differentiate.h"
#include "graph/passes/absorb_marks.h"
#include "graph/shared_constants.h"
#include "partitioner/advice/cures.h"
#include "partitioner/advice/trials.h"
#include "partitioner/advice/tried_edits.h"
#include "partitioner/advice/worker_cures.h"
#include "partitioner/apply/baselines.h"
#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/lower_bound.h"
#include "partitioner/apply/producers.h"
#include "partitioner/apply/refine.h"
#include "partitioner/apply/rounds.h"
#include "partitioner/apply/save_memory.h"
#include "partitioner/apply/segment_loops.h"
#include "partitioner/apply/sunk_program.h"
#include "partitioner/apply/worked_out_plan.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/diagnostics.h"
#include "partitioner/report/explain.h"
#include "partitioner/solver/problem_json.h"

namespace cleave::planner {
namespace {

/// The plan as far as it is made, and what the steps hand on that is not part of a plan.
struct Draft {
  Draft(const Graph& given_graph, const PlanOptions& plan_options) : given(given_graph), options(plan_options) {}

  const Graph& given;
  const PlanOptions& options;
  Plan plan;
  bool refused = false;  ///< there can be no program; the plan's diagnostics say why
  Sinkable sinkable{Graph()};
  Baselines baselines;
  Placement optimum;
  double bound_seconds = 0;
  std::optional<PlannedGraph> planned;
  WorkedOutPlan chosen;
  std::optional<SmallerProgram> smaller;
  std::optional<HostFlow> flow;
  TriedEdits tried;

  [[nodiscard]] const CostModel& model() const { return options.costs; }
  [[nodiscard]] const Graph& graph() const { return *plan.graph; }
  [[nodiscard]] double memory_bytes() const { return plan.machine.accelerators.empty() ? 0 : plan.machine.accelerators[0].memory_bytes; }

  void refuse(const Error& error) {
    refused = true;
    plan.diagnostics.error(error.kind == ErrorKind::machine ? DiagnosticKind::machine : DiagnosticKind::placement, error.location,
                           error.message);
  }
  /// The value of a step that may fail; if it failed, the plan is refused and the default value stands in for it.
  template <class T>
  T value_or_refuse(Result<T> result) {
    if (result) return *std::move(result);
    refuse(result.error());
    return T();
  }
};

// --- the steps -------------------------------------------------------------------------------------------------------------------------

CostedProblem find_costs(Draft& d) {
  CostedProblem costed = make_problem(d.graph(), d.model(), d.plan.diagnostics);
  d.refused = !d.plan.ok();
  if (!d.refused) d.plan.diagnostics.append(diagnose_profile(d.graph(), d.model().profile, d.options.diagnostics));
  return costed;
}

/// Operations may be hoisted out of loops, and so sunk into them, unless the pass that hoists is off.
Sinkable find_sinkable(const Draft& d) {
  const bool moves = d.options.simplify && !d.options.passes.disabled.contains("hoist-invariant");
  return moves ? Sinkable(d.graph(), *d.plan.costed.uses, d.plan.costed.frequency) : Sinkable(d.graph());
}

/// The plan becomes one of the changed graph.
void adopt_changed(Draft& d, ChangedProgram changed) {
  d.plan.graph = std::move(changed.graph);
  d.plan.costed = std::move(changed.costed);
  d.optimum = std::move(changed.optimum);
  d.baselines = std::move(changed.baselines);
}
void adopt_sunk(Draft& d, std::optional<ChangedProgram> sunk) {
  if (sunk) adopt_changed(d, *std::move(sunk));
}

/// What candidates of the graph share. It refers to the draft's costs.
PlannedGraph share_graph(const Draft& d) {
  const auto fits = [&d](const Program& program) { return fits_memory(program, d.options.find_peak, d.memory_bytes()); };
  const auto deepen = [&d](WorkedOutPlan& one, const CostedProblem& costed) {
    give_depths(one, costed, d.options.find_peak, d.plan.machine.host.memory_bytes, d.options.channel_depth);
  };
  return {d.plan.graph, d.plan.costed, fits, deepen};
}

/// The program of least cost that fits into the accelerator's memory because values are computed again: some of them, or those of loops in
/// segments.
std::optional<SmallerProgram> compute_again(const Draft& d) {
  const FindPeak& find_peak = d.options.find_peak;
  auto values = save_memory(d.graph(), d.model(), d.plan.costed, d.chosen, find_peak, d.memory_bytes());
  auto loops = segment_loops(d.graph(), d.model(), d.plan.costed, d.chosen, find_peak, d.memory_bytes());
  const auto seconds = [](const SmallerProgram& smaller) { return smaller.program.optimum.objective_seconds; };
  return loops && (!values || seconds(*loops) < seconds(*values)) ? std::move(loops) : std::move(values);
}

/// Replaces a plan that does not fit into the accelerator's memory by the cheaper of two: one whose values are computed again, if there is
/// one, and one in which work leaves the accelerator. The costs of the latter name memory as the cause of what only it keeps on the host.
void adopt_fitting(Draft& d, Result<FittedPlan> result) {
  if (d.smaller && (!result || d.smaller->program.optimum.objective_seconds <= result->plan.placement.objective_seconds)) {
    d.plan.memory_shortage = MemoryShortage{{}, d.memory_bytes(), d.chosen.schedule.seconds};
    d.plan.memory_shortage->peak.bytes = d.smaller->saved.peak_bytes;
    adopt_changed(d, std::move(d.smaller->program));
    d.plan.saved = std::move(d.smaller->saved);
    d.chosen = work_out(d.planned.emplace(share_graph(d)), with_bound(d.optimum, d.bound_seconds));
    return;
  }
  FittedPlan fitted = d.value_or_refuse(std::move(result));
  if (d.refused) return;
  d.chosen = std::move(fitted.plan);
  d.plan.costed.problem.accelerator_memory_bytes = fitted.capacity_bytes;
  d.plan.memory_shortage = std::move(fitted.shortage);
  for (const NodeId node : fitted.kept_off) d.plan.costed.forced[node.index] = Cause::memory;
}

/// The chosen candidate becomes the plan's, and the baselines its figures of comparison.
void adopt_chosen(Draft& d) {
  Plan& plan = d.plan;
  plan.placement = with_bound(std::move(d.chosen.placement), d.bound_seconds);
  plan.transfers = std::move(d.chosen.transfers);
  plan.program = std::move(d.chosen.program);
  plan.transfer_times = d.chosen.schedule.transfers;
  plan.predicted_seconds = d.chosen.schedule.seconds;
  plan.predicted_wait_seconds = d.chosen.schedule.waiting.empty() ? 0 : d.chosen.schedule.waiting.front().wait_seconds;
  Baseline own;
  own.seconds = plan.placement.objective_seconds;
  own.predicted_seconds = plan.predicted_seconds;
  const Baseline& host = plan.policy == Policy::host ? own : d.baselines.host;
  const Baseline& accelerator = plan.policy == Policy::accelerator ? own : d.baselines.accelerator;
  plan.all_host_seconds = host.seconds;
  plan.all_host_predicted_seconds = host.predicted_seconds;
  plan.all_accelerator_seconds = accelerator.seconds;
  plan.all_accelerator_predicted_seconds = accelerator.predicted_seconds;
  plan.all_accelerator_in_part = accelerator.in_part;
}

std::vector<RoundTrip> find_all_round_trips(Draft& d) {
  Plan& plan = d.plan;
  d.flow.emplace(d.graph(), *plan.costed.uses, plan.placement, plan.transfers);
  std::vector<RoundTrip> trips = find_round_trips(d.graph(), plan.costed, plan.placement, plan.transfers, *d.flow);
  find_hidden(plan.program, plan.costed, plan.transfers, trips);
  return trips;
}

/// The predicted time of a run of the same program with this many workers.
std::optional<double> seconds_with_workers(const Draft& d, int workers) {
  PlanOptions with = d.options;
  with.costs.workers = workers;
  with.passes.after = nullptr;
  with.after_step = nullptr;
  with.accounts = false;
  const Plan other = planner::plan(d.given, with);
  return other.complete() ? std::optional(other.predicted_seconds) : std::nullopt;
}

std::vector<Cure> find_all_cures(const Draft& d) {
  const Plan& plan = d.plan;
  std::vector<Cure> cures = find_cures(plan.account, plan.program, plan.costed, plan.transfers, plan.round_trips);
  if (const auto memory = memory_cure(plan.account, plan.costed, plan.memory_shortage, plan.saved.has_value()))
    cures.insert(cures.begin(), *memory);
  if (!d.options.tries_workers) return cures;
  const int workers = d.model().workers;
  return with_worker_cures(std::move(cures), worker_cures(plan, workers, [&d](int more) { return seconds_with_workers(d, more); }));
}

TriedEdits try_all_edits(const Draft& d) {
  Trials trials(*d.planned, d.model(), d.plan.predicted_seconds);
  return try_edits(d.plan, trials, d.options.diagnostics);
}

void add_diagnosis(Draft& d, Diagnosis diagnosis) {
  d.plan.diagnostics.append(diagnosis.diagnostics);
  d.plan.advice.insert(d.plan.advice.end(), diagnosis.advice.begin(), diagnosis.advice.end());
}

// --- when they run, the rules for what they made, and its text ---------------------------------------------------------------------------

bool can_sink(const Draft& d) {
  return d.sinkable.any();
}
bool overflows(const Draft& d) {
  return !d.planned->fits(d.chosen.program);
}
bool wants_fastest(const Draft& d) {
  return d.plan.policy == Policy::fastest;
}
bool wants_account(const Draft& d) {
  return d.options.accounts;
}

std::vector<std::string> broken_problem(const Draft& d) {
  const Status status = verify(d.plan.costed.problem);
  return status ? std::vector<std::string>() : std::vector{status.error().message};
}
std::vector<std::string> broken_optimum(const Draft& d) {
  return verify(d.plan.costed.problem, d.optimum);
}
std::vector<std::string> broken_program(const Draft& d) {
  return verify(d.chosen.program);
}

std::string problem_text(const Draft& d) {
  return problem_json(d.plan.costed.problem) + "\n";
}
std::string optimum_text(const Draft& d) {
  return placed_text(d.graph(), d.optimum);
}
std::string bound_text(const Draft& d) {
  return "no placement costs less than " + format_seconds(d.bound_seconds) + " a run\n";
}
std::string program_text(const Draft& d) {
  return print(d.chosen.program);
}
std::string account_text(const Draft& d) {
  return account_line(d.plan) + "\n";
}

// --- the table -------------------------------------------------------------------------------------------------------------------------

struct Step {
  PlanStep said;
  void (*run)(Draft&);
  bool (*applies)(const Draft&) = nullptr;                     ///< null: always
  std::vector<std::string> (*broken)(const Draft&) = nullptr;  ///< rules that the result breaks, checked in debug builds; null: none
  std::string (*text)(const Draft&) = nullptr;                 ///< the result for people; null: it is not printed
};

// clang-format off
constexpr Step kSteps[] = {
    {{"costs", "what each operation and each transfer costs, on each side"},
     [](Draft& d) { d.plan.costed = find_costs(d); }, nullptr, broken_problem, problem_text},
    {{"baselines", "the costs of everything on the host, and on the accelerator"},
     [](Draft& d) { d.baselines = solve_baselines(d.graph(), d.model(), d.plan.costed); }},
    {{"minimum-cut", "the placement of least cost, with its fused kernels"},
     [](Draft& d) { d.optimum = d.value_or_refuse(solve_in_rounds(d.graph(), d.model(), d.plan.costed)); }, nullptr, broken_optimum, optimum_text},
    {{"sinkable", "operations in front of loops that could be in them"},
     [](Draft& d) { d.sinkable = find_sinkable(d); }},
    {{"bound", "a cost below which no placement is"},
     [](Draft& d) { d.bound_seconds = find_bound(d.graph(), d.model(), d.plan.costed, d.sinkable, d.optimum); }, nullptr, nullptr, bound_text},
    {{"sink-into-loops", "operations are computed in loops where that makes one kernel of them and their readers", true},
     [](Draft& d) { adopt_sunk(d, sink_into_loops(d.graph(), d.model(), d.plan.costed, d.sinkable, d.optimum)); }, can_sink, broken_optimum, optimum_text},
    {{"transfers-and-split", "what moves, where and when, and the program of each device"},
     [](Draft& d) { d.chosen = work_out(d.planned.emplace(share_graph(d)), with_bound(d.optimum, d.bound_seconds)); }, nullptr, broken_program, program_text},
    {{"compute-again", "values are computed again or kept on the host, until the rest fits into the accelerator's memory", true},
     [](Draft& d) { d.smaller = compute_again(d); }, overflows},
    {{"fit-memory", "work leaves the accelerator until the rest fits into its memory, unless computing values again costs less"},
     [](Draft& d) { adopt_fitting(d, fit_memory(d.plan.graph, d.plan.costed, d.chosen, d.options.find_peak, d.memory_bytes())); }, overflows, broken_program, program_text},
    {{"refine", "a search for a placement that takes less time because work overlaps better", true},
     [](Draft& d) { d.chosen = refine(*d.planned, std::move(d.chosen), d.baselines.placements(), {.fits = d.planned->fits}); }, wants_fastest, broken_program, program_text},
    {{"channel-depths", "how many values of each channel may be under way"},
     [](Draft& d) { d.plan.depths = give_depths(d.chosen, d.plan.costed, d.options.find_peak, d.plan.machine.host.memory_bytes, d.options.channel_depth); }, nullptr, broken_program, program_text},
    {{"predict-baselines", "how long a run with everything on one side takes", true},
     [](Draft& d) { d.baselines = predict_baselines(*d.planned, std::move(d.baselines)); }},
    {{"adopt", "the chosen placement becomes the plan"},
     [](Draft& d) { adopt_chosen(d); }},
    {{"data", "how fast workers make the data of loops ahead, and how many would be fast enough"},
     [](Draft& d) { d.plan.data = find_produced_data(d.plan.program, d.plan.transfers, d.plan.costed, d.chosen.schedule); }, wants_account},
    {{"round-trips", "host work between two pieces of accelerator work"},
     [](Draft& d) { d.plan.round_trips = find_all_round_trips(d); }, wants_account},
    {{"account", "how the time of a run is spent"},
     [](Draft& d) { d.plan.account = find_account(d.plan.program, d.plan.costed, d.plan.transfers, d.plan.round_trips, *d.flow); }, wants_account, nullptr, account_text},
    {{"cures", "what would shorten a run, each tried", true},
     [](Draft& d) { d.plan.account.cures = find_all_cures(d); }, wants_account, nullptr, account_text},
    {{"edits", "edits of the program that diagnostics propose, each tried"},
     [](Draft& d) { d.tried = try_all_edits(d); }, wants_account},
    {{"diagnostics", "what is said about the plan"},
     [](Draft& d) { add_diagnosis(d, diagnose(d.plan, d.chosen.schedule, d.tried, d.options.diagnostics)); }, wants_account},
};
// clang-format on

constexpr std::size_t kStepCount = std::size(kSteps);

void check_made([[maybe_unused]] const Step& step, [[maybe_unused]] const Draft& draft) {
#ifndef NDEBUG
  if (!step.broken) return;
  const std::vector<std::string> broken = step.broken(draft);
  const std::string message = broken.empty() ? "" : "the step `" + std::string(step.said.name) + "` broke a rule: " + broken.front();
  if (!broken.empty()) detail::check_failed("broken(draft).empty()", __FILE__, __LINE__, message.c_str());
#endif
}

void run_steps(Draft& draft) {
  const PlanOptions& options = draft.options;
  for (const Step& step : kSteps) {
    if (step.applies && !step.applies(draft)) continue;
    if (step.said.optional && options.passes.disabled.contains(step.said.name)) continue;
    const auto start = std::chrono::steady_clock::now();
    step.run(draft);
    if (draft.refused) return;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    draft.plan.times.push_back({std::string(step.said.name), taken.count()});
    check_made(step, draft);
    if (options.after_step && step.text) options.after_step(step.said.name, [&] { return step.text(draft); });
  }
}

/// Applies the profile after the passes, because it was recorded on the program as it runs.
std::shared_ptr<const Graph> prepare_graph(const Graph& graph, const PlanOptions& options, std::vector<StepTime>& times) {
  Graph prepared = absorb_marks(graph);
  PassOptions passes = options.passes;
  passes.workers = options.costs.workers;
  if (options.simplify) prepared = run_passes(std::move(prepared), passes, &times);
  if (!options.costs.profile.expected.empty()) prepared = apply_profile(prepared, options.costs.profile);
  if (options.constants) options.constants->share(prepared);
  return std::make_shared<const Graph>(std::move(prepared));
}

Plan plan_differentiated(const Graph& graph, const PlanOptions& options) {
  Draft draft(graph, options);
  Plan& plan = draft.plan;
  plan.machine = options.costs.machine;
  plan.policy = options.costs.policy;
  plan.precision = options.costs.precision;
  plan.profile = options.costs.profile;
  plan.find_peak = options.find_peak;
  add_diagnosis(draft, said_while_reading(graph.diagnostics, options.diagnostics));
  plan.graph = graph.ok() ? prepare_graph(graph, options, plan.times) : std::make_shared<const Graph>(graph);
  if (graph.ok()) run_steps(draft);
  return std::move(plan);
}

/// Everything behind this function sees the program without calls of `gradient`.
Plan make_plan(const Graph& graph, const PlanOptions& options) {
  if (!graph.ok() || !has_gradient_calls(graph)) return plan_differentiated(graph, options);
  const auto start = std::chrono::steady_clock::now();
  const Graph differentiated = differentiate(graph);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  Plan plan = plan_differentiated(differentiated, options);
  plan.times.insert(plan.times.begin(), {"differentiate", taken.count()});
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

/// No error if `name` is that of a pass or of a step that `may` be named so.
template <class May>
Status check_step_name(std::string_view name, May may) {
  std::vector<std::string> names;
  for (const Pass& pass : pass_table()) names.emplace_back(pass.name);
  for (const PlanStep& step : plan_steps())
    if (may(step)) names.emplace_back(step.name);
  return check_pass_name(name, names);
}

}  // namespace

std::span<const PlanStep> plan_steps() {
  static constexpr std::array<PlanStep, kStepCount> kSaid = [] {
    std::array<PlanStep, kStepCount> said;
    for (std::size_t i = 0; i < kStepCount; ++i) {
      said[i] = kSteps[i].said;
      said[i].printable = kSteps[i].text != nullptr;
    }
    return said;
  }();
  return kSaid;
}

Status check_disabled(std::string_view name) {
  return check_step_name(name, [](const PlanStep& step) { return step.optional; });
}

Status check_printed(std::string_view name) {
  return check_step_name(name, [](const PlanStep& step) { return step.printable; });
}

Plan plan(const Graph& graph, const PlanOptions& options) {
  const StandardFloats standard;
  return detail::guard_memory_or([&] { return make_plan(graph, options); }, [&] { return without_memory(options); });
}

}  // namespace cleave::planner
