// Programs, runs and states of the C API.
#include <cleave/c.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

#include "executor/api/executable.h"
#include "graph/base/diagnostic_text.h"
#include "graph/states.h"
#include "models/model.h"
#include "tools/c/arrays.h"
#include "tools/c/guard.h"
#include "tools/c/options.h"

struct cleave_program {
  cleave::Executable executable;
  std::vector<std::pair<std::string, cleave::TensorType>> inputs, outputs;
  std::mutex mutex;
  std::function<void(std::string_view)> print;  ///< guarded by the mutex; null: standard output
};

struct cleave_submission {
  cleave::Run run;
};

namespace cleave::c {
namespace {

Result<Graph> read(const std::string& path, const cleave_options& options) {
  if (!path.ends_with(".graph")) return read_model(path, options.model);
  if (!options.model.dims.empty()) return Error{"a graph file has no symbolic dimensions; `dim` needs a model", {}, ErrorKind::usage};
  return Graph::load(path);
}

Result<Executable> load_saved(const std::string& path, const cleave_options& options) {
  if (!options.planning.empty()) return Error{"option `" + options.planning + "`: `" + path + "` is planned already", {}, ErrorKind::usage};
  LoadOptions load;
  load.device = options.compile.device == "auto" ? "" : options.compile.device;
  load.machine = options.compile.machine;
  load.executor = options.compile.executor;
  load.runs_at_once = options.compile.runs_at_once;
  load.accounts = true;  // for cleave_explain and its like
  return load_plan(path, load);
}

/// `errors` receives all errors of the model.
Result<Executable> load(const std::string& path, const cleave_options& options, Diagnostics& errors) {
  if (path.ends_with(".plan")) return load_saved(path, options);
  const Result<Graph> graph = read(path, options);
  if (!graph) return graph.error();
  const auto keep_errors = [&](const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::error) errors.add(diagnostic);
  };
  return compile(*graph, options.compile, keep_errors);
}

std::unique_ptr<cleave_program> made_of(Executable executable) {
  std::unique_ptr<cleave_program> program(new cleave_program{std::move(executable), {}, {}, {}, {}});
  const Graph& graph = *program->executable.plan().graph;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::parameter) continue;
    const Value& value = graph.values[node.results[0]];
    program->inputs.emplace_back(value.name, value.type);
  }
  const std::vector<bool> state = state_outputs(graph);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (!state[i]) program->outputs.emplace_back(graph.outputs[i].name, graph.values[graph.outputs[i].value].type);
  return program;
}

cleave_status describe_at(const std::vector<std::pair<std::string, TensorType>>& all, size_t index, cleave_named_array* to,
                          const char* what) {
  return guarded([&]() -> Status {
    if (Status there = need(to, what); !there) return there;
    if (index >= all.size()) return Error{"the program has no " + std::string(what) + " " + std::to_string(index), {}, ErrorKind::usage};
    *to = {all[index].first.c_str(), describe(all[index].second)};
    return {};
  });
}

/// Writes a text that the caller frees.
template <class Text>
cleave_status give_text(const cleave_program* program, char** text, const Text& make) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    if (Status there = need(text, "text"); !there) return there;
    const std::string made = make(program->executable);
    auto* copy = static_cast<char*>(std::malloc(made.size() + 1));
    if (!copy) return detail::out_of_memory();
    std::memcpy(copy, made.c_str(), made.size() + 1);
    *text = copy;
    return {};
  });
}

Result<RunOptions> run_options(cleave_program* program, const cleave_named_array* inputs, std::size_t count) {
  if (Status there = need(program, "program"); !there) return there.error();
  Result<std::map<std::string, Array>> arrays = borrowed(inputs, count);
  if (!arrays) return arrays.error();
  RunOptions options;
  options.inputs = *std::move(arrays);
  const std::lock_guard lock(program->mutex);
  options.print = program->print;
  return options;
}

std::unique_ptr<cleave_results> results_of(const RunResult& result) {
  return std::make_unique<cleave_results>(cleave_results{result.outputs, result.seconds});
}

}  // namespace
}  // namespace cleave::c

using namespace cleave;     // NOLINT(google-build-using-namespace): this file defines functions of C
using namespace cleave::c;  // NOLINT(google-build-using-namespace)

cleave_status cleave_load(const char* path, const cleave_options* options, cleave_program** program) {
  Diagnostics errors;
  const cleave_status status = guarded([&]() -> Status {
    if (Status there = need(path, "path"); !there) return there;
    if (Status there = need(program, "program"); !there) return there;
    Result<Executable> executable = load(path, options ? *options : cleave_options(), errors);
    if (!executable) return executable.error();
    *program = made_of(*std::move(executable)).release();
    return {};
  });
  if (status != CLEAVE_OK && errors.has_errors()) tell(errors);
  return status;
}

cleave_status cleave_save_plan(const cleave_program* program, const char* path) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    if (Status there = need(path, "path"); !there) return there;
    return program->executable.save(path);
  });
}

void cleave_program_free(cleave_program* program) {
  delete program;
}

size_t cleave_input_count(const cleave_program* program) {
  return program ? program->inputs.size() : 0;
}
cleave_status cleave_input(const cleave_program* program, size_t index, cleave_named_array* input) {
  return program ? describe_at(program->inputs, index, input, "input") : guarded([&] { return need(program, "program"); });
}
size_t cleave_output_count(const cleave_program* program) {
  return program ? program->outputs.size() : 0;
}
cleave_status cleave_output(const cleave_program* program, size_t index, cleave_named_array* output) {
  return program ? describe_at(program->outputs, index, output, "output") : guarded([&] { return need(program, "program"); });
}

cleave_status cleave_explain(const cleave_program* program, char** text) {
  return give_text(program, text, [](const Executable& executable) { return executable.explain(); });
}
cleave_status cleave_json(const cleave_program* program, char** text) {
  return give_text(program, text, [](const Executable& executable) { return executable.json(); });
}
cleave_status cleave_diagnostics(const cleave_program* program, char** text) {
  return give_text(program, text, [](const Executable& executable) { return to_text(executable.diagnostics()); });
}
cleave_status cleave_metrics(const cleave_program* program, char** text) {
  return give_text(program, text,
                   [](const Executable& executable) { return to_prometheus(executable.counters(), executable.plan().graph->name); });
}
void cleave_text_free(char* text) {
  std::free(text);
}

cleave_status cleave_set_print(cleave_program* program, cleave_print print, void* context) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    const std::lock_guard lock(program->mutex);
    program->print = nullptr;
    if (print) program->print = [print, context](std::string_view line) { print(std::string(line).c_str(), context); };
    return {};
  });
}

cleave_status cleave_run(cleave_program* program, const cleave_named_array* inputs, size_t count, cleave_results** results) {
  return guarded([&]() -> Status {
    if (Status there = need(results, "results"); !there) return there;
    const Result<RunOptions> options = run_options(program, inputs, count);
    if (!options) return options.error();
    const Result<RunResult> result = program->executable.run(*options);
    if (!result) return result.error();
    *results = results_of(*result).release();
    return {};
  });
}

cleave_status cleave_submit(cleave_program* program, const cleave_named_array* inputs, size_t count, cleave_submission** submission) {
  return guarded([&]() -> Status {
    if (Status there = need(submission, "submission"); !there) return there;
    Result<RunOptions> options = run_options(program, inputs, count);
    if (!options) return options.error();
    *submission = new cleave_submission{program->executable.submit(*std::move(options))};
    return {};
  });
}

int cleave_wait_for(const cleave_submission* submission, double seconds) {
  if (!submission) return 1;
  if (!(seconds > 0)) return submission->run.ready() ? 1 : 0;
  constexpr double kLongest = 1e8;  // three years; more would overflow the clock
  const auto duration = std::chrono::duration<double>(std::min(seconds, kLongest));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(duration);
  return submission->run.wait_until(deadline) ? 1 : 0;
}

cleave_status cleave_wait(const cleave_submission* submission, cleave_results** results) {
  return guarded([&]() -> Status {
    if (Status there = need(submission, "submission"); !there) return there;
    if (Status there = need(results, "results"); !there) return there;
    const Result<RunResult>& result = submission->run.wait();
    if (!result) return result.error();
    *results = results_of(*result).release();
    return {};
  });
}

void cleave_cancel(cleave_submission* submission) {
  if (submission) submission->run.cancel();
}

void cleave_submission_free(cleave_submission* submission) {
  delete submission;
}

cleave_status cleave_state(const cleave_program* program, const char* name, cleave_results** results) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    if (Status there = need(name, "name"); !there) return there;
    if (Status there = need(results, "results"); !there) return there;
    Result<Array> value = program->executable.state(name);
    if (!value) return value.error();
    auto made = std::make_unique<cleave_results>();
    made->arrays.emplace_back(name, *std::move(value));
    *results = made.release();
    return {};
  });
}

cleave_status cleave_reset_states(cleave_program* program) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    return program->executable.reset_states();
  });
}

cleave_status cleave_save_states(const cleave_program* program, const char* path) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    if (Status there = need(path, "path"); !there) return there;
    return program->executable.save_states(path);
  });
}

cleave_status cleave_load_states(cleave_program* program, const char* path) {
  return guarded([&]() -> Status {
    if (Status there = need(program, "program"); !there) return there;
    if (Status there = need(path, "path"); !there) return there;
    return program->executable.load_states(path);
  });
}
