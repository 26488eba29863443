#include "executor/api/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

#include "executor/api/executable_state.h"
#include "executor/api/save_on_the_way.h"
#include "executor/api/wiring.h"
#include "executor/arguments/kept_leaves.h"
#include "executor/arguments/saved_states.h"
#include "executor/report/prediction_check.h"
#include "graph/base/boundary.h"
#include "graph/base/diagnostic_fingerprint.h"
#include "graph/base/exceptions.h"
#include "graph/base/spelling.h"
#include "graph/gradient/differentiate.h"
#include "graph/statement_paths.h"
#include "graph/states.h"
#include "partitioner/report/explain.h"
#include "partitioner/report/page/page.h"

namespace cleave {

using runtime::Executor;

namespace {

Error cancelled() {
  return {"cancelled", {}, ErrorKind::user};
}

/// Runs until the end, or until the caller's stop token requests a stop.
Result<RunResult> run_until_stopped(Executor& executor, const RunOptions& options) {
  if (!options.stop.stop_possible()) return executor.run(options);
  std::atomic<bool> over = false;
  const auto stop = [&, runner = std::this_thread::get_id()] {
    const bool inside = std::this_thread::get_id() == runner;
    // Otherwise the run is about to take its first step, or has just taken its last.
    while (!over && !executor.cancel() && !inside) std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  const std::stop_callback on_stop(options.stop, stop);
  Result<RunResult> result = options.stop.stop_requested() ? Result<RunResult>(cancelled()) : executor.run(options);
  over = true;
  return result;
}

}  // namespace

// --- State -----------------------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Executor>> Executable::State::take() {
  {
    Executors& here = *executors;
    const std::lock_guard lock(here.mutex);
    if (here.states_left_behind)
      return Error{
          "the states of this program are in the process that this one was forked from; `reset_states` lets them begin anew in this one",
          {},
          ErrorKind::usage};
    if (!here.idle.empty()) {
      std::unique_ptr<Executor> executor = std::move(here.idle.back());
      here.idle.pop_back();
      return executor;
    }
  }
  runtime::ExecutorSetup with_leaves = setup;
  with_leaves.kept_leaves = executors->kept_leaves;
  return runtime::make_executor(plan, with_leaves);
}

std::unique_ptr<Executable::State::Executors> Executable::State::make_executors() const {
  auto made = std::make_unique<Executors>();
  made->queue = std::make_shared<runtime::RunQueue>(static_cast<std::size_t>(has_states ? 1 : runs_at_once), has_states);
  made->kept_leaves = std::make_shared<runtime::KeptLeaves>();
  made->idle.reserve(std::clamp<std::size_t>(idle_executors, 1, 64));  // so that this many are always kept
  made->states_left_behind = has_states && has_run && !born.here();
  return made;
}

void Executable::State::put_back(std::unique_ptr<Executor> executor) {
  Executors& here = *executors;
  const std::lock_guard lock(here.mutex);
  if (!has_states && (executor->lost() || here.idle.size() >= idle_executors))
    return;  // the states are lost with the device, and later runs must report that
  // If there is no memory to keep the executor, it is destroyed.
  (void)detail::guard_memory([&] {
    here.idle.push_back(std::move(executor));
    return Status();
  });
}

/// Compares a run's time with the prediction, except for the first run on a real clock, which still prepares memory, and for one that
/// verifies, which computes everything twice.
Result<RunResult> Executable::State::run_within_limits(Executor& executor, const RunOptions& options, bool first) const {
  if (!plan.graph->limits.prediction_error) return run_until_stopped(executor, options);
  RunOptions timed = options;
  timed.timeline = true;
  Result<RunResult> result = run_until_stopped(executor, timed);
  if (!result) return result;
  const bool simulated = result->simulated_seconds > 0;
  if (simulated || (!first && !options.verify))
    result->diagnostics = runtime::check_prediction(plan, simulated ? result->simulated_seconds : result->seconds, result->timeline);
  if (!options.timeline) result->timeline = {};
  return result;
}

/// An Error for a name of no input or parameter, which is probably misspelled.
Status Executable::State::know(const std::map<std::string, Array>& inputs) const {
  std::vector<std::string> names;
  for (const Node& node : plan.graph->nodes)
    if (node.kind == NodeKind::input || node.kind == NodeKind::parameter) names.push_back(plan.graph->values[node.results[0]].name);
  for (const auto& [name, array] : inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return Error{"the program has no input or parameter `" + name + "`" + did_you_mean_or_has(name, names), {}, ErrorKind::unknown};
  }
  return {};
}

/// The options with the states that were loaded, as far as they are not given; nothing if none were loaded.
std::optional<RunOptions> Executable::State::with_loaded_states(const RunOptions& options) {
  Executors& here = *executors;
  const std::lock_guard lock(here.mutex);
  if (here.loaded.empty()) return std::nullopt;
  RunOptions with = options;
  with.inputs.insert(here.loaded.begin(), here.loaded.end());
  with.position = here.position;
  return with;
}

void Executable::State::forget_loaded_states() {
  Executors& here = *executors;
  const std::lock_guard lock(here.mutex);
  here.loaded.clear();
  here.position.reset();
}

Result<RunResult> Executable::State::run(const RunOptions& run_options, const std::function<bool(Executor*)>& announce) {
  if (Status known = know(run_options.inputs); !known) return known.error();
  Result<std::unique_ptr<Executor>> executor = take();
  if (!executor) return executor.error();
  const bool first = !has_run;
  has_run = true;
  const std::optional<RunOptions> with_states = with_loaded_states(run_options);
  Result<RunResult> result = cancelled();
  if (save.every > 0) runtime::save_on_the_way(*save_points, **executor, plan.graph->name, save.path);
  if (!announce || announce(executor->get())) result = run_within_limits(**executor, with_states ? *with_states : run_options, first);
  if (result && with_states) forget_loaded_states();
  if (announce) announce(nullptr);
  put_back(std::move(*executor));
  return result;
}

void Executable::State::count(const Result<RunResult>& result, std::chrono::duration<double> waited) {
  const std::lock_guard lock(counting);
  counters.waiting_seconds += waited.count();
  if (!result) return void(++counters.failed);
  ++counters.succeeded;
  counters.seconds += result->seconds;
  const auto add = [](TransferCount& sum, const TransferCount& more) { sum.count += more.count, sum.bytes += more.bytes; };
  add(counters.host_to_accelerator, result->host_to_accelerator);
  add(counters.accelerator_to_host, result->accelerator_to_host);
}

Result<Array> Executable::State::state(std::string_view name) {
  const runtime::RunQueue::Turn turn(executors->queue);
  Result<std::unique_ptr<Executor>> executor = take();
  if (!executor) return executor.error();
  Result<Array> value = (*executor)->state(name);
  put_back(std::move(*executor));
  return value;
}

Status Executable::State::reset_states() {
  const runtime::RunQueue::Turn turn(executors->queue);
  Executors& here = *executors;
  const std::lock_guard lock(here.mutex);
  std::erase_if(here.idle, [](const auto& executor) { return executor->lost(); });
  for (const auto& executor : here.idle) executor->reset_states();
  here.loaded.clear();
  here.position.reset();
  here.states_left_behind = false;
  return {};
}

Status Executable::State::save_states(const std::string& path) {
  const runtime::RunQueue::Turn turn(executors->queue);
  Result<std::unique_ptr<Executor>> executor = take();
  if (!executor) return executor.error();
  Status saved = runtime::save_states(*plan.graph, path, [&](const std::string& name) { return (*executor)->state(name); });
  put_back(std::move(*executor));
  return saved;
}

Status Executable::State::load_states(const std::string& path) {
  const Result<runtime::LoadedStates> states = runtime::load_states(*plan.graph, path);
  if (!states) return states.error();
  if (Status carried = states->position ? runtime::check_carried(*plan.graph, states->carried, path) : Status(); !carried) return carried;
  const runtime::RunQueue::Turn turn(executors->queue);
  Executors& here = *executors;
  const std::lock_guard lock(here.mutex);
  here.loaded = states->inputs();
  here.position = states->position;
  here.states_left_behind = false;
  return {};
}

/// Adds save points to a graph without errors; the plan reports those of another one.
Status Executable::State::add_save_points(const Graph& graph) {
  Graph differentiated = differentiate(graph);
  if (!differentiated.ok()) return {};
  Result<SavePoints> points = cleave::add_save_points(differentiated, save.every);
  if (!points) return points.error();
  if (Status savable = save.every > 0 ? runtime::check_savable(graph, save.path) : Status(); !savable) return savable;
  save_points = *std::move(points);
  return {};
}

// --- Executable ------------------------------------------------------------------------------------------------------------------------

namespace {

/// The text, or a text that reports that there was no memory for it.
template <class F>
std::string said(F&& text) {
  return detail::guard_memory_or(text, [] { return detail::out_of_memory().message; });
}

}  // namespace

const Plan& Executable::plan() const {
  return state_->plan;
}
std::int64_t Executable::memory_bytes() const {
  State::Executors& here = *state_->executors;
  const std::lock_guard lock(here.mutex);
  std::int64_t bytes = 0;
  for (const auto& executor : here.idle)
    for (std::size_t device = 0; device < plan().program.devices.size(); ++device) bytes += executor->planned_peak(DeviceId(device));
  return bytes;
}
std::string Executable::explain() const {
  return said([&] { return planner::explain_text(plan()); });
}
std::string Executable::json() const {
  return said([&] { return planner::explain_json(plan()); });
}
std::string Executable::dot() const {
  return said([&] { return planner::dot(plan()); });
}
std::string Executable::svg() const {
  return said([&] { return planner::svg(plan()); });
}
std::string Executable::html() const {
  return said([&] { return planner::html_page(plan(), {{planner::svg(plan()), ""}}); });
}
std::string Executable::sarif() const {
  const auto sarif = [&] {
    const StatementPaths paths(*plan().graph);
    return to_sarif(plan().diagnostics, [&](const SourceLocation& place) { return paths.of(place); });
  };
  return said(sarif);
}

Result<RunResult> Executable::run_on(Inputs inputs) const {
  return detail::guard_memory([&]() -> Result<RunResult> {
    RunOptions options;
    options.inputs = std::move(inputs);
    return run(options);
  });
}
Result<RunResult> Executable::run(const RunOptions& options) const {
  const StandardFloats standard;
  return detail::guard_memory([&]() -> Result<RunResult> {
    if (std::optional<Error> left = ForeignCall::left_by_jump()) return *std::move(left);
    const auto called = std::chrono::steady_clock::now();
    std::optional<runtime::RunQueue::Turn> turn;
    if (state_->has_states) turn.emplace(state_->executors->queue);  // the call waits for runs that were submitted before
    const auto waited = std::chrono::steady_clock::now() - called;
    Result<RunResult> result = state_->run(options);
    state_->count(result, waited);
    return result;
  });
}

Result<Array> Executable::state(std::string_view name) const {
  const StandardFloats standard;
  return detail::guard_memory([&] { return state_->state(name); });
}
Status Executable::reset_states() const {
  return detail::guard_memory([&] { return state_->reset_states(); });
}
Status Executable::save_states(const std::string& path) const {
  return detail::guard_memory([&] { return state_->save_states(path); });
}
Status Executable::load_states(const std::string& path) const {
  return detail::guard_memory([&] { return state_->load_states(path); });
}

RunCounters Executable::counters() const {
  const std::lock_guard lock(state_->counting);
  return state_->counters;
}

Status runtime::tell(const DiagnosticSink& sink, const Diagnostic& diagnostic) {
  return detail::guard_user("the sink of the diagnostics", [&]() -> Status {
    if (sink) call_foreign("the sink of the diagnostics", {}, [&] { sink(diagnostic); });
    return {};
  });
}

// --- compile ---------------------------------------------------------------------------------------------------------------------------

namespace {

Error first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error)
      return {diagnostic.message, diagnostic.location, diagnostic.kind == DiagnosticKind::machine ? ErrorKind::machine : ErrorKind::user};
  return {"the program cannot be planned", {}, ErrorKind::user};
}

}  // namespace

Result<Executable> compile(const Graph& graph, const CompileOptions& options, const DiagnosticSink& sink) {
  const StandardFloats standard;
  return detail::guard_memory([&]() -> Result<Executable> {
    Result<runtime::Wiring> wiring = runtime::wire(options);
    if (!wiring) return wiring.error();
    auto state = std::make_shared<Executable::State>();
    wiring->plan.tries_workers = false;  // the value of more `--workers` is computed for reports only
    state->save = options.save;
    if (options.save.every > 0 || options.save.continues) {
      if (Status prepared = state->add_save_points(graph); !prepared) return prepared.error();
    }
    state->plan = planner::plan(state->save_points ? std::exchange(state->save_points->graph, {}) : graph, wiring->plan);
    if (options.constants) options.constants->use(state->plan.graph);
    state->setup = std::move(wiring->executor);
    state->idle_executors = static_cast<std::size_t>(std::max(options.idle_executors, 0));
    state->has_states = !states_of(*state->plan.graph).empty();
    state->runs_at_once = std::max(options.runs_at_once, 1);
    for (const Diagnostic& diagnostic : state->plan.diagnostics) {
      if (diagnostic.severity == Severity::allowed && !options.tell_allowed) continue;
      if (Status told = runtime::tell(sink, diagnostic); !told) return told.error();
    }
    if (!state->plan.ok()) return first_error(state->plan.diagnostics);
    Result<std::unique_ptr<Executor>> first = state->take();
    if (!first) return first.error();
    state->put_back(std::move(*first));
    return Executable(std::move(state));
  });
}

}  // namespace cleave
