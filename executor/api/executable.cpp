#include "executor/api/executable.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "executor/memory/memory_plan.h"
#include "graph/base/diagnostic_text.h"
#include "graph/base/spelling.h"
#include "partitioner/report/explain.h"

namespace cleave {

// --- Executable ------------------------------------------------------------------------------------------------------------------------

struct Executable::State {
  Plan plan;
  ExecutorOptions options;
  std::mutex mutex;
  std::vector<std::unique_ptr<Executor>> idle;

  Result<std::unique_ptr<Executor>> take() {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<Executor> executor = std::move(idle.back());
        idle.pop_back();
        return executor;
      }
    }
    return Executor::create(std::make_shared<const Program>(plan.program), plan.machine, options);
  }
  void put_back(std::unique_ptr<Executor> executor) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(executor));
  }
  /// A name that no input or parameter bears is a misspelt one.
  Status know(const std::map<std::string, Array>& inputs) const {
    std::vector<std::string> names;
    for (const Node& node : plan.graph->nodes)
      if (node.kind == NodeKind::input || node.kind == NodeKind::parameter) names.push_back(plan.graph->values[node.results[0]].name);
    for (const auto& [name, array] : inputs) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const std::optional<std::string> near = nearest_name(name, names);
      const std::string advice = near ? "; did you mean `" + *near + "`?" : "";
      return Error{"the program has no input or parameter `" + name + "`" + advice, {}, ErrorKind::unknown};
    }
    return {};
  }
  /// `announce` is told who runs, and afterwards null; if it says no, nothing runs.
  Result<RunResult> run(const RunOptions& run_options, const std::function<bool(Executor*)>& announce = nullptr) {
    if (Status known = know(run_options.inputs); !known) return known.error();
    Result<std::unique_ptr<Executor>> executor = take();
    if (!executor) return executor.error();
    Result<RunResult> result = Error{"cancelled", {}, ErrorKind::user};
    if (!announce || announce(executor->get())) result = (*executor)->run(run_options);
    if (announce) announce(nullptr);
    put_back(std::move(*executor));
    return result;
  }
};

const Plan& Executable::plan() const {
  return state_->plan;
}
std::string Executable::explain() const {
  return explain_text(plan());
}
std::string Executable::json() const {
  return explain_json(plan());
}
std::string Executable::dot() const {
  return cleave::dot(plan());
}
std::string Executable::sarif() const {
  return to_sarif(plan().diagnostics);
}

Result<RunResult> Executable::run(std::map<std::string, Array> inputs) const {
  RunOptions options;
  options.inputs = std::move(inputs);
  return state_->run(options);
}
Result<RunResult> Executable::run(const RunOptions& options) const {
  return state_->run(options);
}

// --- Run -------------------------------------------------------------------------------------------------------------------------------

struct Run::State {
  std::shared_ptr<const Graph> graph;
  mutable std::mutex mutex;
  mutable std::condition_variable news;               ///< an output, or the end
  std::map<std::string, Array, std::less<>> outputs;  ///< so far
  std::optional<Result<RunResult>> outcome;
  bool cancelled = false;
  Executor* executor = nullptr;  ///< while it runs this
  std::thread thread;

  [[nodiscard]] Status know(std::string_view name) const {
    for (const Output& output : graph->outputs)
      if (output.name == name) return {};
    return Error{"the program has no output `" + std::string(name) + "`", {}, ErrorKind::usage};
  }
  /// Under the lock.
  [[nodiscard]] std::optional<Result<Array>> output(std::string_view name) const {
    if (outcome && !outcome->ok()) return Result<Array>(outcome->error());
    if (const auto found = outputs.find(name); found != outputs.end()) return Result<Array>(found->second);
    return std::nullopt;
  }
  void tell(std::string_view name, const Array& array) {
    const std::lock_guard lock(mutex);
    outputs.emplace(name, array);
    news.notify_all();
  }

  ~State() {
    if (thread.joinable()) thread.join();
  }
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;
Run::~Run() = default;

bool Run::ready() const {
  const std::lock_guard lock(state_->mutex);
  return state_->outcome.has_value();
}

bool Run::wait_until(std::chrono::steady_clock::time_point deadline) const {
  std::unique_lock lock(state_->mutex);
  return state_->news.wait_until(lock, deadline, [&] { return state_->outcome.has_value(); });
}

const Result<RunResult>& Run::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->news.wait(lock, [&] { return state_->outcome.has_value(); });
  return *state_->outcome;
}

void Run::cancel() {
  for (;;) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->cancelled = true;  // heeded where the run has no executor yet
      if (!state_->executor || state_->executor->cancel()) return;
    }
    // It is about to take its first step, or has just taken its last.
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<Array> Run::get(std::string_view name) const {
  if (Status known = state_->know(name); !known) return known.error();
  std::unique_lock lock(state_->mutex);
  state_->news.wait(lock, [&] { return state_->output(name).has_value(); });
  return *state_->output(name);
}

std::optional<Result<Array>> Run::get_until(std::string_view name, std::chrono::steady_clock::time_point deadline) const {
  if (Status known = state_->know(name); !known) return Result<Array>(known.error());
  std::unique_lock lock(state_->mutex);
  state_->news.wait_until(lock, deadline, [&] { return state_->output(name).has_value(); });
  return state_->output(name);
}

Run Executable::submit(std::map<std::string, Array> inputs) const {
  RunOptions options;
  options.inputs = std::move(inputs);
  return submit(std::move(options));
}

Run Executable::submit(RunOptions options) const {
  auto state = std::make_unique<Run::State>();
  state->graph = state_->plan.graph;
  options.on_output = [run = state.get(), others = std::move(options.on_output)](std::string_view name, const Array& array) {
    run->tell(name, array);
    if (others) others(name, array);
  };
  state->thread = std::thread([executable = state_, run = state.get(), options = std::move(options)] {
    Result<RunResult> outcome = executable->run(options, [run](Executor* executor) {
      const std::lock_guard lock(run->mutex);
      run->executor = executor;
      return !run->cancelled;
    });
    const std::lock_guard lock(run->mutex);
    if (outcome)
      for (const auto& [name, array] : outcome->outputs) run->outputs.emplace(name, array);
    run->outcome = std::move(outcome);
    run->news.notify_all();
  });
  return Run(std::move(state));
}

// --- compile ---------------------------------------------------------------------------------------------------------------------------

namespace {

Error first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::error) return {diagnostic.message, diagnostic.location, ErrorKind::user};
  return {"the program cannot be planned", {}, ErrorKind::user};
}

}  // namespace

Result<Executable> compile(const Graph& graph, const CompileOptions& options, const DiagnosticSink& sink) {
  ExecutorOptions executor = options.executor;
  if (Status chosen = choose_accelerator(options.device, executor); !chosen) return chosen.error();
  Result<Machine> machine = choose_machine(options.machine, executor.accelerator);
  if (!machine) return machine.error();

  PlanOptions plan_options;
  plan_options.costs.machine = std::move(*machine);
  plan_options.costs.supported = kernel_support(executor.accelerator);
  plan_options.costs.policy = options.placement;
  plan_options.costs.has_accelerator = executor.accelerator != ExecutorOptions::Accelerator::none;
  plan_options.costs.profile = options.profile;
  plan_options.diagnostics = options.diagnostics;
  plan_options.simplify = options.simplify;
  plan_options.find_peak = accelerator_peak;

  auto state = std::make_shared<Executable::State>();
  state->plan = plan(graph, plan_options);
  state->options = std::move(executor);
  for (const Diagnostic& diagnostic : state->plan.diagnostics)
    if (sink) sink(diagnostic);
  if (!state->plan.ok()) return first_error(state->plan.diagnostics);
  Result<std::unique_ptr<Executor>> first = state->take();
  if (!first) return first.error();
  state->put_back(std::move(*first));
  return Executable(std::move(state));
}

}  // namespace cleave
