// load_bench FILE [THREADS [NAME=N...]]: how long a model, or a plan (.plan), takes until it is ready to run, and its first and second run,
// on the host. With --save PLAN as the last words, writes its plan instead. Prints one JSON document; load_peers.py calls it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "executor/api/executable.h"
#include "graph/base/diagnostic_text.h"
#include "models/model.h"

namespace cleave::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "error: %s\n", result.error().message.c_str());
  std::exit(1);
}

/// Numbers between 0 and 1 for inputs of floating types, zeros for others.
Array values_for(const TensorType& type) {
  Array array(type);
  if (type.dtype == DType::f32)
    for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(i % 251) / 251;
  return array;
}

struct Asked {
  std::string path, save;
  int threads = 1;
  std::map<std::string, std::int64_t> dims;
};

Asked asked_of(int count, char** words) {
  Asked asked;
  std::vector<std::string> rest(words + 1, words + count);
  if (rest.size() > 2 && rest[rest.size() - 2] == "--save") {
    asked.save = rest.back();
    rest.resize(rest.size() - 2);
  }
  if (rest.empty()) std::fprintf(stderr, "usage: load_bench FILE [THREADS [NAME=N...]] [--save PLAN]\n"), std::exit(2);
  asked.path = rest[0];
  if (rest.size() > 1) asked.threads = std::atoi(rest[1].c_str());
  for (std::size_t i = 2; i < rest.size(); ++i) {
    const std::size_t equals = rest[i].find('=');
    asked.dims[rest[i].substr(0, equals)] = std::atoll(rest[i].c_str() + equals + 1);
  }
  return asked;
}

Executable ready(const Asked& asked, nlohmann::json& document) {
  const auto start = Clock::now();
  if (asked.path.ends_with(".plan")) {
    LoadOptions options;
    options.executor.threads = asked.threads;
    Executable program = or_exit(load_plan(asked.path, options));
    document["ready"] = seconds_since(start);
    return program;
  }
  const Graph graph = read_model(asked.path, {.dims = asked.dims});
  if (!graph.ok()) std::fputs(to_text(graph.diagnostics).c_str(), stderr), std::exit(1);
  document["read"] = seconds_since(start);
  CompileOptions options{.device = "none"};
  options.executor.threads = asked.threads;
  Executable program = or_exit(compile(graph, options));
  document["ready"] = seconds_since(start);
  if (!asked.save.empty()) {
    const auto before = Clock::now();
    if (const Status saved = program.save(asked.save, &graph); !saved)
      std::fprintf(stderr, "error: %s\n", saved.error().message.c_str()), std::exit(1);
    document["save"] = seconds_since(before);
  }
  return program;
}

int measure(const Asked& asked) {
  nlohmann::json document;
  const Executable program = ready(asked, document);
  for (const StepTime& step : program.plan().times) document["steps"][step.name] = step.seconds;
  document["nodes"] = program.plan().graph->nodes.size();
  RunOptions options;
  options.print = [](std::string_view) {};
  for (const Node& node : program.plan().graph->nodes) {
    if (node.kind != NodeKind::input || node.attributes.find("file") || node.attributes.find("value")) continue;
    const Value& value = program.plan().graph->values[node.results[0]];
    options.inputs.emplace(value.name, values_for(value.type));
  }
  for (const char* name : {"first_run", "second_run"}) {
    const auto start = Clock::now();
    (void)or_exit(program.run(options));
    document[name] = seconds_since(start);
  }
  std::puts(document.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace cleave::bench

int main(int count, char** words) {
  return cleave::bench::measure(cleave::bench::asked_of(count, words));
}
