// `cleave run`: plans a model and runs it. run_report.cpp writes the results and statistics.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <utility>

#include "executor/api/back_ends.h"
#include "executor/api/save_on_the_way.h"
#include "executor/arguments/saved_states.h"
#include "executor/report/progress.h"
#include "graph/base/spelling.h"
#include "graph/base/utf8.h"
#include "graph/gradient/differentiate.h"
#include "graph/lengths.h"
#include "graph/states.h"
#include "graph/trace/save_points.h"
#include "tools/cli/crash.h"
#include "tools/cli/run_log.h"
#include "tools/cli/run_report.h"
#include "tools/cli/session.h"
#include "tools/cli/terminal.h"
#include "tools/cli/time_limit.h"
#include "tools/cli/values.h"

namespace cleave::cli {
namespace {

Status check_outputs(const Graph& graph, const Options& options) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  for (const GraphState& state : states_of(graph))
    if (state.hidden) std::erase(names, graph.outputs[state.output].name);
  for (const auto& [name, file] : options.outputs) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Error{"the model has no output `" + name + "`" + did_you_mean_or_has(name, names), {}, ErrorKind::unknown};
    if (!file.ends_with(".txt")) continue;
    for (const Output& output : graph.outputs)
      if (const TensorType& type = graph.values[output.value].type; output.name == name && type.dtype != DType::u8)
        return Error{
            "--output " + name + "=" + file + ": text is bytes (u8), and `" + name + "` is " + to_string(type), {}, ErrorKind::user};
  }
  return {};
}

/// Adds the final values of states, which runs do not return, at their positions among the outputs.
Status add_states(const Graph& graph, Executor& executor, RunResult& last) {
  std::vector<std::pair<std::string, Array>> outputs = std::exchange(last.outputs, {});
  const std::vector<GraphState> states = states_of(graph);
  const std::vector<bool> count = count_outputs(graph);
  auto next = outputs.begin();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (count[i]) continue;
    const auto state = std::find_if(states.begin(), states.end(), [&](const GraphState& each) { return each.output == i; });
    if (state == states.end()) {
      last.outputs.push_back(std::move(*next++));
      continue;
    }
    if (state->hidden) continue;
    Result<Array> value = executor.state(graph.values[state->value].name);
    if (!value) return value.error();
    last.outputs.emplace_back(graph.outputs[i].name, *std::move(value));
  }
  return {};
}

/// Removes the initial values of states and the loaded values, which apply to the first run only.
void go_on_with_states(const Graph& graph, const std::map<std::string, Array>& loaded, RunOptions& run) {
  run.position.reset();
  for (const auto& [name, array] : loaded) run.inputs.erase(name);
  for (const GraphState& state : states_of(graph)) run.inputs.erase(graph.values[state.value].name);
}

/// The states of `--load`; nothing without that flag.
Result<std::optional<LoadedStates>> load_states(const Graph& graph, const std::string& path) {
  if (path.empty()) return std::optional<LoadedStates>();
  Result<LoadedStates> states = runtime::load_states(graph, path);
  if (!states) return states.error();
  return std::optional(*std::move(states));
}

/// The program with points at which it saves its states, or can go on; nothing if it needs none, or has errors that its plan reports.
Result<std::optional<SavePoints>> find_save_points(const Graph& graph, const Options& options, const std::optional<LoadedStates>& loaded) {
  if (options.save_every == 0 && !(loaded && loaded->position)) return std::optional<SavePoints>();
  const Graph differentiated = differentiate(graph);
  if (!differentiated.ok()) return std::optional<SavePoints>();
  Result<SavePoints> points = add_save_points(differentiated, options.save_every);
  if (!points) return points.error();
  if (Status carried = loaded && loaded->position ? check_carried(points->graph, loaded->carried, options.load) : Status(); !carried)
    return carried.error();
  return std::optional(*std::move(points));
}

/// Saves the states after the last run, unless that has been done at the end of the loop.
Status save_last(const Plan& plan, const Options& options, Executor& executor, const std::optional<SavePoints>& points,
                 const std::optional<LoadedStates>& loaded) {
  if (options.save.empty()) return {};
  if (points && options.save_every > 0 && points->ends_with_loop) {
    if (points->hook->saved) return {};
    if (loaded && loaded->position) {  // no trip was left
      std::vector<std::pair<std::string, Array>> values;
      for (const std::string& name : points->values) {
        const auto carried = loaded->carried.find(name);
        Result<Array> value = carried != loaded->carried.end() ? Result<Array>(carried->second) : executor.state(name);
        if (!value) return value.error();
        values.emplace_back(name, *std::move(value));
      }
      return write_states(options.save, plan.graph->name, std::move(values), loaded->position);
    }
  }
  return runtime::save_states(*plan.graph, options.save, [&](const std::string& name) { return executor.state(name); });
}

/// The options of a run: its inputs, and its callbacks.
RunOptions run_options(const Options& options, std::map<std::string, Array> inputs, StatusLine& line, RunProgress& progress,
                       Verified& verified, RunLog& log, Executor& executor) {
  RunOptions run;
  run.inputs = std::move(inputs);
  run.print = [&line, json = options.json](std::string_view text) {
    line.clear();
    std::FILE* file = json ? stderr : stdout;
    std::fputs((escape_controls(text) + "\n").c_str(), file);
    std::fflush(file);
  };
  run.verify = options.verify;
  if (options.verify) run.on_verify = [&](std::string_view name, double operations) { verified.tell(name, operations, line); };
  if (log.wanted())
    run.on_log = [&](const LoggedStep& step) {
      if (!log.add(step)) executor.end(log.written().error());
    };
  run.stop_on_nan = options.stop_on_nan;
  run.observe = options.profile;
  if (line.on() && !options.verify) run.progress = &progress;
  return run;
}

/// Runs, and writes the timeline to `file` if it is named. The timeline of a failed run ends at the failure, if its first step was reached.
Result<RunResult> run_traced(Executor& executor, const RunOptions& options, const std::string& file, const Plan& plan, bool simulated) {
  if (file.empty()) return executor.run(options);
  Result<ChromeTrace> trace = ChromeTrace::create(file, *plan.graph);
  if (!trace) return trace.error();
  RunOptions traced = options;
  std::atomic<bool> begun = false;
  traced.on_timeline = [&](std::span<const TimelineEvent> events) {
    begun = true;
    trace->add(events);
  };
  Result<RunResult> result = executor.run(traced);
  if (!result && !begun) return result;
  const Status written = trace->finish(simulated);
  if (result && !written) return written.error();
  return result;
}

}  // namespace

int run_command(const Options& options) {
  name_crashes();
  const Console console(options);
  std::optional<Result<SavedPlan>> saved_plan;
  if (is_plan_path(options.model)) saved_plan.emplace(read_plan(options, true));
  if (saved_plan && !*saved_plan) return console.fail(saved_plan->error());
  const Result<Wiring> wiring = saved_plan ? Result<Wiring>(std::move((*saved_plan)->wiring)) : wire(options);
  if (!wiring) return console.fail(wiring.error());
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  const Graph graph = saved_plan ? *(*saved_plan)->plan.graph : load_graph(options);
  if (!graph.ok()) return console.fail(graph.diagnostics);
  if (Status known = check_outputs(graph, options); !known) return console.fail(known.error());
  auto inputs = read_inputs(graph, options);
  if (!inputs) return console.fail(inputs.error());
  if (Status saved = options.save.empty() ? Status() : runtime::check_savable(graph, options.save); !saved)
    return console.fail(saved.error());
  auto loaded = load_states(graph, options.load);
  if (!loaded) return console.fail(loaded.error());
  if (saved_plan && (options.save_every > 0 || (*loaded && (*loaded)->position)))
    return console.fail(Error{"a compiled plan has no points at which it saves its states; run the model for that", {}, ErrorKind::usage});
  auto points = find_save_points(graph, options, *loaded);
  if (!points) return console.fail(points.error());
  const std::map<std::string, Array> begun = *loaded ? (*loaded)->inputs() : std::map<std::string, Array>();
  inputs->insert(begun.begin(), begun.end());
  if (Status given = check_all_given(graph, *inputs); !given) return console.fail(given.error());
  auto plan = saved_plan ? Result<Plan>(std::move((*saved_plan)->plan)) : make_plan(*points ? (*points)->graph : graph, options);
  if (!plan) return console.fail(plan.error());
  if (!plan->ok()) return console.fail(plan->diagnostics);
  console.report(*plan);

  StatusLine line(shows_progress(options));
  RunProgress progress;
  Verified verified;
  auto executor = make_executor(*plan, wiring->executor);
  if (!executor) return console.fail(executor.error());
  const std::optional<SavedPosition> position = *loaded ? (*loaded)->position : std::nullopt;
  auto log = RunLog::create(options, *plan, position);
  if (!log) return console.fail(log.error());
  RunOptions run = run_options(options, *std::move(inputs), line, progress, verified, **log, **executor);
  run.position = position;
  if (options.save_every > 0) runtime::save_on_the_way(**points, **executor, graph.name, options.save);
  std::unique_ptr<TimeLimit> limit;
  if (options.time_limit) {
    auto started = TimeLimit::start(*options.time_limit, **executor, *plan->graph, console);
    if (!started) return console.fail(started.error());
    limit = *std::move(started);
  }
  RunReport report(*plan, options, device_name(wiring->executor));
  {
    ProgressWatch watch(
        line, progress, options.runs, !options.verify, [&] { return (*log)->text(); }, transfers_of_step(*plan));
    for (std::int64_t i = 0; i < options.runs; ++i) {
      watch.begin_run(i);
      // The check of the prediction reports the last run in detail, which requires its timeline.
      run.timeline = options.profile || (i + 1 == options.runs && plan->graph->limits.prediction_error);
      auto result = run_traced(**executor, run, options.trace, *plan, wiring->executor.back_end.simulates);
      if (!result || !(*log)->written()) {
        watch.end();
        const int code = console.fail(result ? (*log)->written().error() : result.error());
        if (limit) limit->leave_if_over(code);
        return code;
      }
      if (i == 0) go_on_with_states(*plan->graph, begun, run);
      run.first_step = result->steps;
      (*log)->end_run(result->seconds);
      if (i + 1 == options.runs)
        if (const Status added = add_states(*plan->graph, **executor, *result); !added) {
          watch.end();
          return console.fail(added.error());
        }
      report.add(*std::move(result));
    }
  }
  limit.reset();
  if (Status saved = save_last(*plan, options, **executor, *points, *loaded); !saved) return console.fail(saved.error());
  if (options.verify) report.add(verified);
  const Diagnostics exceeded = report.check_prediction();
  console.report(exceeded);  // before the line of Console::account, which comes last
  const Status delivered = report.deliver(console);
  if (!delivered) return console.fail(delivered.error());
  return exceeded.has_errors() ? exit_code(exceeded) : kDone;
}

}  // namespace cleave::cli
