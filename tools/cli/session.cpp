#include "tools/cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "graph/array/npy.h"
#include "graph/base/diagnostic_folding.h"
#include "graph/base/diagnostic_json.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/exceptions.h"
#include "graph/base/file.h"
#include "graph/base/output_file.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/base/version.h"
#include "graph/passes/seed.h"
#include "graph/statement_paths.h"
#include "graph/states.h"
#include "graph/text/text.h"
#include "models/fixes.h"
#include "models/model.h"
#include "partitioner/report/account_text.h"
#include "partitioner/report/explain.h"
#include "tools/cli/values.h"

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

/// Folders that are searched for libraries of host functions, besides the model's own: the lib folder of the build or installation.
std::vector<std::string> library_folders() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) return {};
  const auto root = program.parent_path().parent_path();
  std::vector<std::string> folders{(root / "lib").string()};
  if (const std::string installed = (root / CLEAVE_LIBRARY_FOLDER).string(); installed != folders[0]) folders.push_back(installed);
  return folders;
}

/// The seed in `random` or `random:SEED`.
std::optional<std::uint64_t> random_seed(std::string_view schedule) {
  if (schedule == "random") return 0;
  if (!schedule.starts_with("random:")) return std::nullopt;
  const std::string_view digits = schedule.substr(7);
  std::uint64_t seed = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  return code == std::errc() && end == digits.data() + digits.size() ? std::optional(seed) : std::nullopt;
}

Status read_executor_flags(const Options& options, ExecutorOptions& result) {
  result.check_memory = options.check_memory;
  result.inject = options.inject;
  result.threads = static_cast<int>(options.threads);
  result.workers = static_cast<int>(options.workers);
  result.library_paths = library_folders();
  if (options.precision == "tf32") result.precision = Precision::tf32;
  if (options.precision == "bf16") result.precision = Precision::bf16;
  if (options.schedule == "latest") {
    result.schedule = ExecutorOptions::Schedule::latest;
  } else if (const auto seed = random_seed(options.schedule)) {
    result.schedule = ExecutorOptions::Schedule::random;
    result.schedule_seed = *seed;
  } else if (options.schedule != "eager") {
    return Error{"--schedule " + options.schedule + ": expected eager, latest or random[:SEED], where SEED is a whole number of 64 bits",
                 {},
                 ErrorKind::usage};
  }
  return {};
}

/// Rejects flags that only the simulated accelerator has, on other devices.
Status check_simulated_only(const Options& options, const ExecutorSetup& setup) {
  if (setup.back_end.simulates) return {};
  const std::pair<const char*, bool> flags[] = {
      {"--inject", !options.inject.empty()}, {"--check-memory", options.check_memory}, {"--schedule", options.schedule != "eager"}};
  for (const auto& [flag, given] : flags) {
    if (!given) continue;
    return Error{std::string(flag) + ": for the simulated accelerator only, and the device is " + std::string(setup.back_end.name),
                 {},
                 ErrorKind::usage};
  }
  return {};
}

/// The first given flag that applies to ONNX models only.
const char* onnx_flag(const Options& options) {
  if (!options.shapes.empty()) return "--shape";
  if (!options.constants.empty()) return "--constant";
  if (!options.bounds.empty()) return "--bound";
  if (!options.assume_host.empty()) return "--assume-host";
  if (!options.host_functions.empty()) return "--host-function";
  if (!options.parameters.empty()) return "--parameters";
  if (options.onnxruntime) return "--placement onnxruntime";
  return options.accelerator_ops == "cleave" ? nullptr : "--accelerator-ops";
}

/// One line for each step, with its share of the total.
std::string times_text(const std::vector<StepTime>& times) {
  double sum = 0;
  for (const StepTime& time : times) sum += time.seconds;
  std::string text = "passes and planning took " + format_seconds(sum) + ":\n";
  for (const StepTime& time : times) {
    char line[120];
    std::snprintf(line, sizeof line, "  %-20s %10s %5.1f %%\n", time.name.c_str(), format_seconds(time.seconds).c_str(),
                  sum > 0 ? 100 * time.seconds / sum : 0);
    text += line;
  }
  return text;
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

int exit_code(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error && diagnostic.kind == DiagnosticKind::machine) return kMachineError;
  return kUserError;
}

Console::Console(const Options& options) : options_(options), color_(wants_color(options)) {}

Console::~Console() {
  if (!for_sarif_) return;
  const auto printed = [] { return std::fputs("error: out of memory\n", stderr); };
  (void)detail::guard_memory_or([&] { return write(stderr, to_sarif(*for_sarif_, statement_of_, fixes_for_sarif_)), 0; }, printed);
}

void Console::line(std::string_view text) const {
  write(stdout, escape_controls(text) + "\n");
}

void Console::out(std::string_view text) const {
  write(stdout, escape_controls(text));
}

void Console::document(std::string_view json) const {
  write(stdout, json);
}

void Console::document(std::string_view key, std::string_view text, const Diagnostics& diagnostics) const {
  std::string out;
  JsonWriter json(out, 2);
  json.object([&] {
    json.field("cleave", kVersion);
    json.field(key, text);
    json.key("diagnostics");
    write_json(json, diagnostics);
  });
  document(out + "\n");
}

void Console::note(std::string_view text) const {
  if (!options_.quiet && !options_.json) line(escape_controls_one_line(text));
}

void Console::aside(std::string_view text) const {
  if (options_.quiet || options_.json) return;
  std::fflush(stdout);
  write(stderr, escape_controls_one_line(text) + "\n");
}

void Console::report(const Diagnostics& diagnostics, const std::vector<Fix>& fixes) const {
  if (options_.json) return;  // they are part of the document
  Diagnostics shown;          // SARIF includes allowed diagnostics too, as suppressed
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error || (!options_.quiet && (sarif() || diagnostic.severity != Severity::allowed)))
      shown.add(diagnostic);
  if (sarif()) {
    if (!for_sarif_) for_sarif_.emplace();
    for_sarif_->append(shown);
    fixes_for_sarif_.insert(fixes_for_sarif_.end(), fixes.begin(), fixes.end());
  } else {
    write(stderr, to_text(fold(shown, static_cast<std::size_t>(options_.diagnostic_limit)), {.color = color_, .source = true}, fixes));
  }
}

StatementOf Console::statements_of(const Plan& plan) const {
  const auto paths = std::make_shared<const StatementPaths>(*plan.graph);
  return statement_of_ = [paths](const SourceLocation& place) { return paths->of(place); };
}

void Console::report(const Plan& plan) const {
  if (sarif() && !statement_of_) statements_of(plan);
  report(plan.diagnostics, plan.fixes);
  if (options_.json || options_.quiet || options_.diagnostics_format == "sarif") return;
  if (const std::size_t count = plan.machine.accelerators.size(); count > 1)
    write(stderr, escape_controls_one_line("machine `" + plan.machine.name + "` has " + std::to_string(count) +
                                           " accelerators; this plan, its prediction and its bound are for the host and the first one") +
                      "\n");
  const bool said = std::any_of(plan.diagnostics.begin(), plan.diagnostics.end(), [](const Diagnostic& d) {
    return d.kind == DiagnosticKind::round_trip && (d.severity == Severity::warning || d.severity == Severity::error);
  });
  if (const std::string line = planner::waiting_line(plan); said && !line.empty()) write(stderr, line + "\n");
}

void Console::account(const Plan& plan) const {
  if (options_.json || options_.quiet || sarif() || !plan.complete()) return;
  std::fflush(stdout);
  write(stderr, escape_controls_one_line(planner::account_line(plan)) + "\n");
}

int Console::fail(const Error& error) const {
  if (options_.json)
    document(diagnostics_json(as_diagnostics(error)));
  else if (sarif())
    report(as_diagnostics(error));
  else
    write(stderr, to_text(error, {.color = color_, .source = true}));
  return exit_code(error);
}

int Console::fail(const Diagnostics& diagnostics) const {
  if (options_.json) document(diagnostics_json(diagnostics));
  report(diagnostics);
  return exit_code(diagnostics);
}

namespace {

/// Checks that `file` may be overwritten: only an existing profile may be, since any other file may have been named by mistake, such as the
/// model.
Status check_profile_file(const std::string& file) {
  std::error_code unknown;
  const bool held = !file.empty() && std::filesystem::is_regular_file(file, unknown) && std::filesystem::file_size(file, unknown) > 0;
  if (!held || Profile::load(file)) return {};
  return Error{
      "`" + file + "` holds no profile, and `--profile` would replace it; name another file, or remove this one", {}, ErrorKind::usage};
}

}  // namespace

Status check_output_files(const Options& options) {
  std::vector<std::string> files{options.trace, options.profile_file, options.output_file, options.html_file, options.log};
  for (const auto& [name, file] : options.outputs) files.push_back(file);
  for (const std::string& file : files) {
    if (file.empty()) continue;
    if (Status writable = check_writable(file); !writable) return writable;
  }
  return check_profile_file(options.profile_file);
}

ModelOptions model_options(const Options& options) {
  ModelOptions given{
      .dims = options.dims, .shapes = options.shapes, .input_shapes = {}, .constants = {}, .bounds = options.bounds, .assume_host = {}};
  given.constants.insert(options.constants.begin(), options.constants.end());
  given.assume_host.insert(options.assume_host.begin(), options.assume_host.end());
  given.host_functions = options.host_functions;
  given.parameters = options.parameters;
  given.source_roots = options.source_roots;
  if (options.accelerator_ops != "cleave") {
    given.pins = OrtPins::kernels;
    given.onnxruntime = options.accelerator_ops == "ort-cuda-1.23" ? OrtVersion::v1_23 : OrtVersion::v1_31;
  }
  if (options.onnxruntime) given.pins = OrtPins::placement;
  if (!options.model.ends_with(".onnx")) return given;
  for (const auto& [name, text] : options.inputs) {
    if (!text.ends_with(".npy")) continue;
    if (const Result<Array> array = read_npy(text)) given.input_shapes.emplace(name, array->shape());
  }
  return given;
}

namespace {

Graph with_seed(Graph graph, const Options& options) {
  return options.seed == 0 || !graph.ok() ? graph : add_seed(graph, options.seed);
}

Graph with_states(Graph graph, const Options& options) {
  for (const auto& [input, output] : options.states) {
    if (!graph.ok()) break;
    if (const Status kept = keep_state(graph, input, output); !kept)
      graph.diagnostics.error(DiagnosticKind::unknown, kept.error().location, "--state " + kept.error().message);
  }
  return graph;
}

/// The first given flag that changes the program.
const char* model_flag(const Options& options) {
  if (!options.dims.empty() || options.dim_range) return "--dim";
  if (options.seed != 0) return "--seed";
  if (!options.states.empty()) return "--state";
  return onnx_flag(options);
}

/// The first given flag that only planning knows.
const char* planning_flag(const Options& options) {
  if (options.onnxruntime || options.placement != Policy::optimal) return "--placement";
  if (options.workers != 1) return "--workers";
  if (options.precision != "f32") return "--precision";
  if (options.accelerator_memory_bytes > 0) return "--accelerator-memory";
  if (options.keep != "auto") return "--keep";
  if (!options.use_profile.empty()) return "--use-profile";
  if (!options.disabled_passes.empty()) return "--disable-pass";
  if (!options.print_after.empty()) return "--print-after";
  return nullptr;
}

Graph load_stateless(const Options& options) {
  if (is_plan_path(options.model)) {
    Graph broken;
    broken.diagnostics.error(
        DiagnosticKind::file, {std::make_shared<const std::string>(options.model), 0, 0, nullptr},
        "a compiled plan is no model; `run`, `explain`, `check`, `dot` and `print` take one, and this needs the model");
    return broken;
  }
  if (const char* flag = onnx_flag(options); flag && !options.model.ends_with(".onnx")) {
    Graph broken;
    broken.diagnostics.error(DiagnosticKind::unknown, {std::make_shared<const std::string>(options.model), 0, 0, nullptr},
                             std::string(flag) + " is for ONNX models");
    return broken;
  }
  if (!options.model.ends_with(".graph")) return with_seed(read_model(options.model, model_options(options)), options);
  Result<Graph> loaded = cleave::load_graph(options.model, options.source_roots);
  if (loaded && options.dims.empty()) return with_seed(*std::move(loaded), options);
  Graph broken;
  if (!loaded)
    broken.diagnostics.error(loaded.error().kind == ErrorKind::machine ? DiagnosticKind::machine : DiagnosticKind::file,
                             loaded.error().location, loaded.error().message);
  else
    broken.diagnostics.error(DiagnosticKind::unknown, {std::make_shared<const std::string>(options.model), 0, 0, nullptr},
                             "a graph file has no symbolic dimensions; --dim needs a model");
  return broken;
}

}  // namespace

Graph load_graph(const Options& options) {
  return with_states(load_stateless(options), options);
}

Graph load_text(std::string_view text, const Options& options) {
  return with_states(with_seed(parse_model(text, options.model, model_options(options)), options), options);
}

namespace {

/// The options of compile() for the command line's flags, but for what is printed after passes.
Result<CompileOptions> compile_options(const Options& options) {
  CompileOptions compile;
  compile.device = options.device;
  compile.placement = options.placement;
  compile.machine = options.machine;
  compile.accelerator_memory_bytes = options.accelerator_memory_bytes;
  if (options.keep == "all") compile.keep = CompileOptions::Keep::all;
  compile.diagnostics = options.diagnostics;
  compile.passes.disabled.insert(options.disabled_passes.begin(), options.disabled_passes.end());
  if (Status read = read_executor_flags(options, compile.executor); !read) return read.error();
  if (options.use_profile.empty()) return compile;
  Result<Profile> profile = Profile::load(options.use_profile);
  if (!profile) return profile.error();
  compile.profile = *std::move(profile);
  return compile;
}

}  // namespace

Result<Wiring> wire(const Options& options) {
  for (const std::string& pass : options.print_after)
    if (Status known = planner::check_printed(pass); !known) return known.error();
  Result<CompileOptions> compile = compile_options(options);
  if (!compile) return compile.error();
  const auto printed = [&options](std::string_view pass, const auto& text) {
    if (std::find(options.print_after.begin(), options.print_after.end(), pass) == options.print_after.end()) return;
    write(stderr, "# after `" + std::string(pass) + "`\n" + text());
  };
  compile->passes.after = [printed](std::string_view pass, const Graph& graph) { printed(pass, [&graph] { return print(graph); }); };
  Result<Wiring> wiring = runtime::wire(*compile);
  if (!wiring) return wiring;
  wiring->plan.after_step = printed;
  if (Status meant = check_simulated_only(options, wiring->executor); !meant) return meant.error();
  return wiring;
}

Result<PlanSettings> plan_settings(const Options& options) {
  const Result<CompileOptions> compile = compile_options(options);
  if (!compile) return compile.error();
  const Result<Wiring> wiring = runtime::wire(*compile);
  if (!wiring) return wiring.error();
  return runtime::plan_settings(*compile, *wiring);
}

Result<SavedPlan> read_plan(const Options& options, bool accounts, bool checks_data) {
  const char* flag = planning_flag(options);
  if (!flag && options.compiled_from.empty()) flag = model_flag(options);
  if (flag)
    return Error{
        std::string(flag) + ": `" + options.model + "` is planned already; `cleave compile` takes this flag", {}, ErrorKind::usage};
  LoadOptions load;
  load.device = options.device == "auto" ? "" : options.device;
  load.machine = options.machine;
  load.accounts = accounts;
  load.checks_data = checks_data;
  load.diagnostics = options.diagnostics;
  load.source_roots = options.source_roots;
  if (Status read = read_executor_flags(options, load.executor); !read) return read.error();
  Graph model;
  if (!options.compiled_from.empty()) {
    Options of_model = options;
    of_model.model = options.compiled_from;
    model = load_graph(of_model);
    for (const Diagnostic& diagnostic : model.diagnostics)
      if (diagnostic.severity == Severity::error) return Error{diagnostic.message, diagnostic.location, ErrorKind::user};
    load.model = &model;
  }
  Result<SavedPlan> saved = read_saved_plan(options.model, load);
  if (!saved) return saved;
  if (Status meant = check_simulated_only(options, saved->wiring.executor); !meant) return meant.error();
  if (options.time_passes) write(stderr, times_text(saved->plan.times));
  return saved;
}

Result<Plan> make_plan(const Graph& graph, const Options& options, const std::string* text) {
  const Result<Wiring> wiring = wire(options);
  if (!wiring) return wiring.error();
  Plan made = plan(graph, wiring->plan);
  made.fixes = find_model_fixes(made.advice, options.model, text);
  if (options.time_passes) write(stderr, times_text(made.times));
  return made;
}

std::optional<Plan> load_and_plan(const Options& options, const Console& console, int& code) {
  const auto failed = [&](const auto& error) {
    code = console.fail(error);
    return std::nullopt;
  };
  if (is_plan_path(options.model)) {
    auto saved = read_plan(options, true, options.command == Command::check);
    if (!saved) return failed(saved.error());
    code = saved->plan.ok() ? kDone : exit_code(saved->plan.diagnostics);
    return std::move(saved->plan);
  }
  const Graph graph = load_graph(options);
  if (!graph.ok()) return failed(graph.diagnostics);
  if (const auto inputs = read_inputs(graph, options); !inputs) return failed(inputs.error());
  auto plan = make_plan(graph, options);
  if (!plan) return failed(plan.error());
  code = plan->ok() ? kDone : exit_code(plan->diagnostics);
  if (code == kMachineError) return failed(plan->diagnostics);  // there is no plan to show
  return *std::move(plan);
}

}  // namespace cleave::cli
