#include "tools/cli/session.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "executor/memory/memory_plan.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/seed.h"
#include "models/model.h"
#include "partitioner/report/explain.h"

namespace cleave::cli {
namespace {

bool wants_color(const Options& options) {
  if (options.color != "auto") return options.color == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return (!no_color || !*no_color) && isatty(STDERR_FILENO) != 0;
}

void write(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

DiagnosticKind kind_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::machine: return DiagnosticKind::machine;
    case ErrorKind::file: return DiagnosticKind::file;
    case ErrorKind::unknown: return DiagnosticKind::unknown;
    case ErrorKind::user:
    case ErrorKind::usage: break;
  }
  return DiagnosticKind::value;
}

Diagnostics as_diagnostics(const Error& error) {
  Diagnostics diagnostics;
  diagnostics.add({kind_of(error.kind), Severity::error, error.message, error.location, 0, {}});
  return diagnostics;
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::user:
    case ErrorKind::file:
    case ErrorKind::unknown: return kUserError;
    case ErrorKind::usage: return kUsageError;
    case ErrorKind::machine: break;
  }
  return kMachineError;
}

Console::Console(const Options& options) : options_(options), color_(wants_color(options)) {}

void Console::line(std::string_view text) const {
  write(stdout, std::string(text) + "\n");
}

void Console::out(std::string_view text) const {
  write(stdout, text);
}

void Console::note(std::string_view text) const {
  if (!options_.quiet && !options_.json) line(text);
}

void Console::report(const Diagnostics& diagnostics) const {
  if (options_.json) return;  // they are part of the document
  Diagnostics shown;
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error || (!options_.quiet && diagnostic.severity != Severity::allowed)) shown.add(diagnostic);
  if (options_.diagnostics_format == "sarif")
    write(stderr, to_sarif(shown) + "\n");
  else
    write(stderr, to_text(shown, {.color = color_, .source = true}));
}

int Console::fail(const Error& error) const {
  if (options_.json)
    out(diagnostics_json(as_diagnostics(error)));
  else
    write(stderr, to_text(error, {.color = color_, .source = true}));
  return exit_code(error);
}

int Console::fail(const Diagnostics& diagnostics) const {
  if (options_.json) out(diagnostics_json(diagnostics));
  report(diagnostics);
  return kUserError;
}

Graph load_graph(const Options& options) {
  if (!options.model.ends_with(".graph")) {
    Graph graph = read_model(options.model, {.dims = options.dims});
    return options.seed == 0 || !graph.ok() ? graph : add_seed(graph, options.seed);
  }
  Result<Graph> loaded = Graph::load(options.model);
  if (loaded && options.dims.empty()) return options.seed == 0 ? *loaded : add_seed(*loaded, options.seed);
  Graph broken;
  if (!loaded)
    broken.diagnostics.error(DiagnosticKind::file, loaded.error().location, loaded.error().message);
  else
    broken.diagnostics.error(DiagnosticKind::unknown, {std::make_shared<const std::string>(options.model), 0, 0, nullptr},
                             "a graph file has no symbolic dimensions; --dim needs a model");
  return broken;
}

Result<ExecutorOptions> choose_device(const Options& options) {
  ExecutorOptions chosen;
  if (Status status = choose_accelerator(options.device, chosen); !status) return status.error();
  const bool cuda = chosen.accelerator == ExecutorOptions::Accelerator::cuda;
  if (cuda && options.precision == "tf32") chosen.precision = Precision::tf32;
  if (cuda && options.precision == "bf16") chosen.precision = Precision::bf16;
  if (!cuda && options.precision != "f32")
    return Error{"--precision " + options.precision + ": this device computes matrix products in f32 only", {}, ErrorKind::usage};
  return chosen;
}

Result<Plan> make_plan(const Graph& graph, const Options& options) {
  PlanOptions plan_options;
  plan_options.diagnostics = options.diagnostics;
  plan_options.costs.policy = options.placement;
  plan_options.find_peak = accelerator_peak;
  const auto device = choose_device(options);
  if (!device) return device.error();
  const auto accelerator = device->accelerator;
  plan_options.costs.has_accelerator = accelerator != ExecutorOptions::Accelerator::none;
  plan_options.costs.supported = kernel_support(accelerator);
  auto machine = choose_machine(options.machine, accelerator);
  if (!machine) return machine.error();
  plan_options.costs.machine = *std::move(machine);
  if (!options.use_profile.empty()) {
    auto profile = Profile::load(options.use_profile);
    if (!profile) return profile.error();
    plan_options.costs.profile = *std::move(profile);
  }
  return plan(graph, plan_options);
}

}  // namespace cleave::cli
