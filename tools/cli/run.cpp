// `cleave run`: plans, runs, and says what came out and what moved.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "executor/executor.h"
#include "executor/measured.h"
#include "graph/npy.h"
#include "partitioner/explain.h"
#include "tools/cli/session.h"
#include "tools/cli/values.h"

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostJsonElements = 10'000;

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
      const auto near = nearest(name, names);
      return Error{
          "the model has no input or parameter `" + name + "`" + (near ? "; did you mean `" + *near + "`?" : ""), {}, ErrorKind::user};
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
    const auto near = nearest(name, names);
    return Error{"the model has no output `" + name + "`" + (near ? "; did you mean `" + *near + "`?" : ""), {}, ErrorKind::user};
  }
  return {};
}

/// Where libraries of host functions are looked for beside the model's own folder: the lib folder of the build or installation.
std::vector<std::string> library_folders() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return {};
  const auto root = program.parent_path().parent_path();
  return {(root / "lib").string(), (root / CLEAVE_LIBRARY_FOLDER).string()};
}

Result<ExecutorOptions> executor_options(const Options& options) {
  auto device = choose_device(options);
  if (!device) return device.error();
  ExecutorOptions result = *std::move(device);
  const bool cuda = result.accelerator == ExecutorOptions::Accelerator::cuda;
  if (cuda && !options.inject.empty()) return Error{"--inject: faults are for the simulated accelerator", {}, ErrorKind::usage};
  result.check_memory = options.check_memory;
  result.inject = options.inject;
  result.library_paths = library_folders();
  if (options.schedule == "latest") {
    result.schedule = ExecutorOptions::Schedule::latest;
  } else if (options.schedule.starts_with("random")) {
    result.schedule = ExecutorOptions::Schedule::random;
    if (options.schedule.size() > 7) result.schedule_seed = std::strtoull(options.schedule.c_str() + 7, nullptr, 10);
  } else if (options.schedule != "eager") {
    return Error{"--schedule " + options.schedule + ": expected eager, latest or random[:SEED]", {}, ErrorKind::usage};
  }
  return result;
}

/// What ran the accelerator's part.
std::string device_name(const ExecutorOptions& options) {
  switch (options.accelerator) {
    case ExecutorOptions::Accelerator::none: return "host";
    case ExecutorOptions::Accelerator::cuda: return "cuda:" + std::to_string(options.ordinal);
    case ExecutorOptions::Accelerator::simulated: break;
  }
  return "simulated";
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

std::string profile_text(const Profile& profile) {
  std::string text = "observed:\n";
  char number[64];
  for (const auto& [where, value] : profile.expected) {
    std::snprintf(number, sizeof number, "%.6g", value);
    text += "  " + where + ": " + number + " (trips, or share of `then`)\n";
  }
  for (const auto& [where, seconds] : profile.host_seconds) text += "  " + where + ": " + human_seconds(seconds) + " on the host\n";
  return text;
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
    console.out(profile_text(result.observed));
    const Measured measured = measure(result.timeline, *plan.graph, plan.costed, plan.transfers);
    console.out(std::string(result.timeline.simulated ? "simulated" : "measured") + " beside predicted, for a run:\n" +
                to_text(measured, *plan.graph));
  }
  console.note(summary_line(plan));
  if (result.simulated_seconds > 0)
    console.note("ran on the simulated accelerator: results are real, times are simulated (" + human_seconds(result.simulated_seconds) +
                 " simulated, " + human_seconds(result.seconds) + " of wall clock)");
  return {};
}

}  // namespace

int run_command(const Options& options) {
  const Console console(options);
  const auto executor_opts = executor_options(options);
  if (!executor_opts) return console.fail(executor_opts.error());
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
  run_options.timeline = !options.trace.empty() || options.profile;
  run_options.observe = options.profile;

  auto executor = Executor::create(std::make_shared<const Program>(plan->program), plan->machine, *executor_opts);
  if (!executor) return console.fail(executor.error());
  std::optional<RunResult> last;
  for (std::int64_t i = 0; i < options.runs; ++i) {
    auto result = (*executor)->run(run_options);
    if (!result) return console.fail(result.error());
    last = *std::move(result);
  }
  const Status delivered = deliver(*plan, *last, options, device_name(*executor_opts), console);
  return delivered ? kDone : console.fail(delivered.error());
}

}  // namespace cleave::cli
