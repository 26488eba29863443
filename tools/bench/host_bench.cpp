// Runs a model file on the host alone, compiled once and run on request: the cleave side of host_peers.py and prediction. It knows no
// specific model and no peer. It prints JSON, one line for each answer.
//
//   host_bench MODEL.yaml [--output NAME=FILE.npy]... [--machine FILE|NAME] [--threads N] [--libraries FOLDER] [--clock wall|cpu]
//   host_bench --roof [--clock wall|cpu]
//
// It first runs once, writes the outputs named, and prints the plan's prediction for the trip counts of that run. Then it reads numbers
// from standard input: for each N it runs N times, with results in the same arrays, and answers with the seconds of each run. With --roof,
// it answers each N with the seconds of N multiply-adds in the registers of one core.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "executor/api/executable.h"
#include "executor/arguments/bindings.h"
#include "graph/array/npy.h"
#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "tools/bench/core_peak.h"

namespace cleave::bench {
namespace {

using nlohmann::ordered_json;

struct Arguments {
  std::string model, machine, libraries;
  std::map<std::string, std::string> outputs;
  int threads = 0;
  bool roof = false;
  clockid_t clock = CLOCK_MONOTONIC;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--roof") {
      arguments.roof = true;
    } else if (!word.starts_with("--")) {
      arguments.model = word;
    } else if (++i == argc) {
      return std::nullopt;
    } else if (word == "--machine") {
      arguments.machine = argv[i];
    } else if (word == "--libraries") {
      arguments.libraries = argv[i];
    } else if (word == "--threads") {
      arguments.threads = std::atoi(argv[i]);
    } else if (word == "--clock") {
      arguments.clock = std::string(argv[i]) == "cpu" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    } else if (const std::string value = argv[i]; word == "--output" && value.find('=') != std::string::npos) {
      arguments.outputs[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    } else {
      return std::nullopt;
    }
  }
  return arguments.roof != arguments.model.empty() ? std::nullopt : std::optional(arguments);
}

int fail(const Error& error) {
  std::fputs(to_text(error).c_str(), stderr);
  return 1;
}

void answer(const ordered_json& document) {
  std::puts(document.dump().c_str());
  std::fflush(stdout);
}

/// Answers each number on standard input with the seconds measured by `once`.
template <class Once>
int serve(Once once) {
  for (std::int64_t count = 0; std::cin >> count;) {
    Result<std::vector<double>> seconds = once(count);
    if (!seconds) return fail(seconds.error());
    answer(*seconds);
  }
  return 0;
}

/// Seconds on a clock; only differences are meaningful.
double now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Sets the number of threads if the executor has that option; returns whether it has.
template <class Options>
bool set_threads(Options& options, int threads) {
  if constexpr (requires { options.threads = threads; }) {
    options.threads = threads;
    return true;
  }
  return threads <= 1;
}

/// The data that the model names for its inputs, read once and passed as a caller's arrays. Parameters stay in the program.
Result<std::map<std::string, Array>> inputs_of(const Graph& graph) {
  std::map<std::string, Array> inputs;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.kind != NodeKind::input) continue;
    Result<Array> array = runtime::bind_leaf(graph, NodeId(i), {});
    if (!array) return array.error();
    inputs.emplace(graph.values[node.results[0]].name, *std::move(array));
  }
  return inputs;
}

/// The predicted seconds of a run with the trip counts and branch frequencies of an observed run.
Result<double> predicted_seconds(const Graph& graph, CompileOptions options, const Profile& observed) {
  options.profile.expected = observed.expected;
  const Result<Executable> program = compile(graph, options);
  if (!program) return program.error();
  return program->plan().predicted_seconds;
}

int run_model(const Arguments& arguments) {
  const Graph graph = read_model(arguments.model);
  CompileOptions options{.device = "none", .machine = arguments.machine};
  if (!arguments.libraries.empty()) options.executor.library_paths = {arguments.libraries};
  if (arguments.threads > 0 && !set_threads(options.executor, arguments.threads))
    return fail({"this build runs the host's work on one thread", {}, ErrorKind::usage});
  const double start = now(CLOCK_MONOTONIC);
  const Result<Executable> program = compile(graph, options);
  if (!program) return fail(program.error());
  const double compiling = now(CLOCK_MONOTONIC) - start;

  RunOptions run;
  run.print = [](std::string_view) {};
  run.observe = true;
  Result<std::map<std::string, Array>> inputs = inputs_of(*program->plan().graph);
  if (!inputs) return fail(inputs.error());
  run.inputs = *std::move(inputs);
  Result<RunResult> first = program->run(run);
  if (!first) return fail(first.error());
  run.observe = false;
  for (const auto& [name, array] : first->outputs) {
    run.results.emplace(name, array);
    const auto file = arguments.outputs.find(name);
    if (file == arguments.outputs.end()) continue;
    if (Status written = write_npy(file->second, array); !written) return fail(written.error());
  }
  const Result<double> predicted = predicted_seconds(graph, options, first->observed);
  if (!predicted) return fail(predicted.error());
  const Machine& machine = program->plan().machine;
  answer(
      {{"predicted_seconds", *predicted}, {"compile_seconds", compiling}, {"machine", machine.name}, {"provenance", machine.provenance}});
  first = RunResult{};

  return serve([&](std::int64_t count) -> Result<std::vector<double>> {
    std::vector<double> seconds;
    for (; count > 0; --count) {
      const double before = now(arguments.clock);
      const Result<RunResult> result = program->run(run);
      if (!result) return result.error();
      seconds.push_back(now(arguments.clock) - before);
    }
    return seconds;
  });
}

int roof(clockid_t clock) {
  answer({{"instructions", peak_instructions()}});
  return serve([clock](std::int64_t multiply_adds) -> Result<std::vector<double>> {
    const double before = now(clock);
    multiply_add(multiply_adds);
    return std::vector<double>{now(clock) - before};
  });
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  const auto arguments = cleave::bench::parse(argc, argv);
  if (!arguments) {
    std::fputs(
        "usage: host_bench MODEL.yaml [--output NAME=FILE.npy]... [--machine FILE|NAME] [--threads N] [--libraries FOLDER] [--clock "
        "wall|cpu]\n"
        "       host_bench --roof [--clock wall|cpu]\n",
        stderr);
    return 2;
  }
  return arguments->roof ? cleave::bench::roof(arguments->clock) : cleave::bench::run_model(*arguments);
}
