// `cleave run`: plans a model and runs it. run_report.cpp writes the results and statistics.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

#include "executor/api/back_ends.h"
#include "executor/arguments/saved_states.h"
#include "executor/report/progress.h"
#include "graph/base/spelling.h"
#include "graph/base/utf8.h"
#include "graph/states.h"
#include "tools/cli/crash.h"
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
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return Error{"the model has no output `" + name + "`" + did_you_mean_or_has(name, names), {}, ErrorKind::unknown};
  }
  return {};
}

/// Adds the final values of states, which runs do not return, at their positions among the outputs.
Status add_states(const Graph& graph, Executor& executor, RunResult& last) {
  std::vector<std::pair<std::string, Array>> outputs = std::exchange(last.outputs, {});
  const std::vector<GraphState> states = states_of(graph);
  auto next = outputs.begin();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
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

/// Removes the initial values of states, which apply to the first run only.
void go_on_with_states(const Graph& graph, RunOptions& run) {
  for (const GraphState& state : states_of(graph)) run.inputs.erase(graph.values[state.value].name);
}

/// Adds the states saved at `path` to the inputs, as far as they are not given.
Status load_states(const Graph& graph, const std::string& path, std::map<std::string, Array>& inputs) {
  if (path.empty()) return {};
  auto states = runtime::load_states(graph, path);
  if (!states) return states.error();
  inputs.merge(*states);
  return {};
}

/// The options of a run: its inputs, and its callbacks.
RunOptions run_options(const Options& options, std::map<std::string, Array> inputs, StatusLine& line, RunProgress& progress,
                       Verified& verified) {
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
  const Result<Wiring> wiring = wire(options);
  if (!wiring) return console.fail(wiring.error());
  if (Status writable = check_output_files(options); !writable) return console.fail(writable.error());
  const Graph graph = load_graph(options);
  if (!graph.ok()) return console.fail(graph.diagnostics);
  if (Status known = check_outputs(graph, options); !known) return console.fail(known.error());
  auto inputs = read_inputs(graph, options);
  if (!inputs) return console.fail(inputs.error());
  if (Status saved = options.save.empty() ? Status() : runtime::check_savable(graph, options.save); !saved)
    return console.fail(saved.error());
  if (Status loaded = load_states(graph, options.load, *inputs); !loaded) return console.fail(loaded.error());
  if (Status given = check_all_given(graph, *inputs); !given) return console.fail(given.error());
  auto plan = make_plan(graph, options);
  if (!plan) return console.fail(plan.error());
  if (!plan->ok()) return console.fail(plan->diagnostics);
  console.report(*plan);

  StatusLine line(shows_progress(options));
  RunProgress progress;
  Verified verified;
  RunOptions run = run_options(options, *std::move(inputs), line, progress, verified);
  auto executor = make_executor(*plan, wiring->executor);
  if (!executor) return console.fail(executor.error());
  std::unique_ptr<TimeLimit> limit;
  if (options.time_limit) {
    auto started = TimeLimit::start(*options.time_limit, **executor, *plan->graph, console);
    if (!started) return console.fail(started.error());
    limit = *std::move(started);
  }
  RunReport report(*plan, options, device_name(wiring->executor));
  {
    ProgressWatch watch(line, progress, options.runs, !options.verify);
    for (std::int64_t i = 0; i < options.runs; ++i) {
      watch.begin_run(i);
      // The check of the prediction reports the last run in detail, which requires its timeline.
      run.timeline = options.profile || (i + 1 == options.runs && plan->graph->limits.prediction_error);
      auto result = run_traced(**executor, run, options.trace, *plan, wiring->executor.back_end.simulates);
      if (!result) {
        watch.end();
        const int code = console.fail(result.error());
        if (limit) limit->leave_if_over(code);
        return code;
      }
      if (i == 0) go_on_with_states(*plan->graph, run);
      if (i + 1 == options.runs)
        if (const Status added = add_states(*plan->graph, **executor, *result); !added) {
          watch.end();
          return console.fail(added.error());
        }
      report.add(*std::move(result));
    }
  }
  limit.reset();
  if (!options.save.empty()) {
    const auto state = [&](const std::string& name) { return (*executor)->state(name); };
    if (Status saved = runtime::save_states(*plan->graph, options.save, state); !saved) return console.fail(saved.error());
  }
  if (options.verify) report.add(verified);
  const Diagnostics exceeded = report.check_prediction();
  console.report(exceeded);  // before the line of Console::account, which comes last
  const Status delivered = report.deliver(console);
  if (!delivered) return console.fail(delivered.error());
  return exceeded.has_errors() ? exit_code(exceeded) : kDone;
}

}  // namespace cleave::cli
