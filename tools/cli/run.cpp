// `cleave run`: plans, runs, and says what came out and what moved.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "executor/api/back_ends.h"
#include "executor/report/profile_report.h"
#include "graph/array/npy.h"
#include "graph/base/spelling.h"
#include "graph/base/units.h"
#include "partitioner/report/explain.h"
#include "tools/cli/session.h"
#include "tools/cli/time_limit.h"
#include "tools/cli/values.h"

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostJsonElements = 10'000;

/// The nearest of the names there are; all of them where none is near and they are few.
std::string advice(const std::string& wrong, const std::vector<std::string>& names) {
  if (const auto near = nearest_name(wrong, names)) return "; did you mean `" + *near + "`?";
  if (names.empty() || names.size() > 6) return "";
  std::string text = "; it has";
  for (const std::string& name : names) text += (&name == &names.front() ? " `" : ", `") + name + "`";
  return text;
}

/// The values given on the command line, each read with the type that the model declares.
Result<std::map<std::string, Array>> read_inputs(const Graph& graph, const Options& options) {
  std::map<std::string, const Value*> declared;
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::parameter) continue;
    const Value& value = graph.values[node.results[0]];
    declared[value.name] = &value;
    names.push_back(value.name);
  }
  std::map<std::string, Array> arrays;
  for (const auto& [name, text] : options.inputs) {
    const auto found = declared.find(name);
    if (found == declared.end()) {
      return Error{"the model has no input or parameter `" + name + "`" + advice(name, names), {}, ErrorKind::unknown};
    }
    auto array = read_value(text, found->second->type);
    if (!array)
      return Error{"`" + name + "` (" + to_string(found->second->type) + "): " + array.error().message, array.error().location,
                   array.error().kind};
    arrays.insert_or_assign(name, *std::move(array));
  }
  return arrays;
}

Status check_outputs(const Graph& graph, const Options& options) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  for (const auto& [name, file] : options.outputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return Error{"the model has no output `" + name + "`" + advice(name, names), {}, ErrorKind::unknown};
  }
  return {};
}

/// On a terminal, the node that is being verified, overwritten in place: large ones take minutes.
std::function<void(std::string_view, double)> verify_progress(const Options& options) {
  if (isatty(STDERR_FILENO) == 0 || options.quiet || options.json) return nullptr;
  struct State {
    std::mutex mutex;  // host and accelerator are verified at once
    std::int64_t checked = 0;
    std::chrono::steady_clock::time_point shown;
  };
  return [state = std::make_shared<State>()](std::string_view name, double operations) {
    const std::lock_guard lock(state->mutex);
    const auto now = std::chrono::steady_clock::now();
    ++state->checked;
    if (operations < 1e8 && now - state->shown < std::chrono::milliseconds(100)) return;
    state->shown = now;
    std::fprintf(stderr, "\rverifying `%.*s` (%.3g operations), %lld checked before\033[K\r", static_cast<int>(name.size()), name.data(),
                 operations, static_cast<long long>(state->checked - 1));
    std::fflush(stderr);
  };
}

ordered_json run_json(const Plan& plan, const RunResult& result, const std::string& device) {
  const auto count = [](const TransferCount& moved) { return ordered_json{{"count", moved.count}, {"bytes", moved.bytes}}; };
  ordered_json outputs = ordered_json::object();
  for (const auto& [name, array] : result.outputs) {
    ordered_json item{{"type", to_string(array.type())}, {"shape", array.shape()}};
    if (array.size() <= kMostJsonElements) item["data"] = data_json(array);
    outputs[name] = std::move(item);
  }
  ordered_json document{{"device", device}, {"outputs", std::move(outputs)}};
  document["transfers"] = {{"host_to_accelerator", count(result.host_to_accelerator)},
                           {"accelerator_to_host", count(result.accelerator_to_host)}};
  document["seconds"] = result.seconds;
  document["simulated_seconds"] = result.simulated_seconds;
  document["diagnostics"] = ordered_json::parse(diagnostics_json(plan.diagnostics))["diagnostics"];
  return document;
}

/// A line a place in the program, in its order.
std::string profile_text(const Graph& graph, const Profile& profile) {
  std::vector<std::pair<std::string, std::string>> lines;
  std::set<std::string> seen;
  std::size_t width = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    const std::string where = to_string(node.location);
    const auto expected = profile.expected.find(where);
    const auto seconds = profile.host_seconds.find(where);
    std::string what;
    if (is_control(node.kind) && expected != profile.expected.end()) {
      char number[64];
      const bool branch = node.kind == NodeKind::branch;
      std::snprintf(number, sizeof number, branch ? "`then` in %.3g %% of all cases" : "%.6g trips", expected->second * (branch ? 100 : 1));
      what = number;
    } else if (node.kind == NodeKind::operation && seconds != profile.host_seconds.end()) {
      what = format_seconds(seconds->second) + " on the host, `" + graph.display_name(NodeId(i)) + "`";
    }
    if (what.empty() || !seen.insert(where).second) continue;
    width = std::max(width, where.size());
    lines.emplace_back(where, what);
  }
  std::string text = "observed:\n";
  for (const auto& [where, what] : lines) text += "  " + where + std::string(width - where.size() + 2, ' ') + what + "\n";
  return text;
}

bool uses_accelerator(const Program& program) {
  const std::vector<Block>& blocks = program.devices[DeviceId(1)].blocks;
  return !blocks.empty() && !blocks[0].steps.empty();
}

/// What follows a successful run: files, outputs, summary.
Status deliver(const Plan& plan, const RunResult& result, const Options& options, const std::string& device, const Console& console) {
  for (const auto& [name, file] : options.outputs)
    for (const auto& [output, array] : result.outputs)
      if (output == name)
        if (Status written = write_npy(array, file); !written) return written;
  if (!options.trace.empty())
    if (Status written = write_chrome_trace(result.timeline, *plan.graph, options.trace); !written) return written;
  if (!options.profile_file.empty())
    if (Status written = result.observed.save(options.profile_file); !written) return written;
  if (options.json) {
    ordered_json document = run_json(plan, result, device);
    if (options.profile) document["profile"] = {{"expected", result.observed.expected}, {"host_seconds", result.observed.host_seconds}};
    console.line(document.dump());
    return {};
  }
  std::set<std::string> in_files;
  for (const auto& [name, file] : options.outputs) in_files.insert(name);
  for (const auto& [name, array] : result.outputs)
    if (!in_files.contains(name)) console.line(name + ": " + to_string(array));
  if (options.profile && options.profile_file.empty()) {
    console.out(profile_text(*plan.graph, result.observed));
    const ProfileReport measured = profile_report(result.timeline, *plan.graph, plan.costed, plan.transfers);
    console.out(std::string(result.timeline.simulated ? "simulated" : "measured") + " beside predicted, for a run:\n" +
                to_text(measured, *plan.graph));
  }
  console.note(summary_line(plan));
  if (result.simulated_seconds > 0)
    console.note(std::string(uses_accelerator(plan.program) ? "ran" : "nothing to do") +
                 " on the simulated accelerator: results are real, times are simulated (" + format_seconds(result.simulated_seconds) +
                 " simulated, " + format_seconds(result.seconds) + " of wall clock)");
  return {};
}

}  // namespace

int run_command(const Options& options) {
  const Console console(options);
  const Result<Wiring> wiring = wire(options);
  if (!wiring) return console.fail(wiring.error());
  const Graph graph = load_graph(options);
  if (!graph.ok()) return console.fail(graph.diagnostics);
  auto plan = make_plan(graph, options);
  if (!plan) return console.fail(plan.error());
  if (!plan->ok()) return console.fail(plan->diagnostics);
  console.report(plan->diagnostics);
  if (Status known = check_outputs(graph, options); !known) return console.fail(known.error());

  RunOptions run_options;
  auto inputs = read_inputs(graph, options);
  if (!inputs) return console.fail(inputs.error());
  run_options.inputs = *std::move(inputs);
  run_options.print = [&](std::string_view text) {
    std::FILE* file = options.json ? stderr : stdout;
    std::fprintf(file, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(file);
  };
  run_options.verify = options.verify;
  if (options.verify) run_options.on_verify = verify_progress(options);
  run_options.timeline = !options.trace.empty() || options.profile;
  run_options.observe = options.profile;

  auto executor = make_executor(*plan, wiring->executor);
  if (!executor) return console.fail(executor.error());
  std::unique_ptr<TimeLimit> limit;
  if (options.time_limit) {
    auto started = TimeLimit::start(*options.time_limit, **executor, *plan->graph, console);
    if (!started) return console.fail(started.error());
    limit = *std::move(started);
  }
  std::optional<RunResult> last;
  for (std::int64_t i = 0; i < options.runs; ++i) {
    auto result = (*executor)->run(run_options);
    if (run_options.on_verify) std::fputs("\r\033[K", stderr);
    if (!result) return console.fail(result.error());
    last = *std::move(result);
  }
  limit.reset();
  const Status delivered = deliver(*plan, *last, options, device_name(wiring->executor), console);
  return delivered ? kDone : console.fail(delivered.error());
}

}  // namespace cleave::cli
