// compile(): from a Graph to something that runs, in one call: plans it (partitioner), opens its devices and prepares them (executor). What
// it gives runs once or many times, one run after the other or several at once.
//
//   Result<Executable> program = compile(graph, {.device = "simulated"});
//   if (!program) return complain(program.error());
//   std::fputs(program->explain().c_str(), stdout);
//   Result<RunResult> result = program->run({{"x", x}, {"y", y}});
//   if (result) use(*result->output("w"));
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "executor/arguments/run_options.h"
#include "executor/options.h"
#include "graph/base/diagnostic.h"
#include "graph/base/result.h"
#include "graph/graph.h"
#include "partitioner/compile.h"

namespace cleave {

/// `compile(graph, {.device = "simulated", .placement = Policy::fastest})`
struct CompileOptions {
  /// auto, none, simulated or cuda[:N]; auto is a GPU where one is usable, else the simulated accelerator.
  std::string device = "auto";
  Policy placement = Policy::optimal;
  std::string machine = {};            ///< a shipped machine's name or a machine file; empty: the one of the device
  DiagnosticOptions diagnostics = {};  ///< which kinds are reported, as the flags -W… of the command line
  bool tell_allowed = false;           ///< the sink is told also what an allow() silenced (severity `allowed`)
  Profile profile = {};                ///< observed trips and times in place of assumed ones
  bool simplify = true;                ///< false: no pass runs
  PassOptions passes = {};
  ExecutorOptions executor = {};
  /// How many submitted runs are under way at once, each with an executor (threads and memory) to itself; the others wait for their turn.
  int runs_at_once = 32;
  int idle_executors = 4;  ///< how many executors are kept for later runs
};

/// Called for each diagnostic, in order, before compile() returns; not for what was allowed, unless CompileOptions::tell_allowed.
using DiagnosticSink = std::function<void(const Diagnostic&)>;

/// One run under way. Movable; the destructor waits for its end. Other threads may ask it too.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Whether the run is over, with whatever outcome.
  [[nodiscard]] bool ready() const;
  /// Waits until the run is over; false if it is not at the deadline.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) const;
  /// Waits for the end and gives the outcome; may be called again.
  [[nodiscard]] const Result<RunResult>& wait() const;
  /// Ends the run soon, also in the middle of an operation, unless it is over: its outcome is then the Error "cancelled". What a host
  /// function does is not interrupted; a run that waits for its turn never starts.
  void cancel();
  /// One output by name, as soon as the host has its value; the rest of the run goes on. Waits for it. The run's Error if that comes first
  /// or is the outcome; an Error (usage) for an unknown name.
  [[nodiscard]] Result<Array> get(std::string_view name) const;
  /// The same with a deadline (one that is past: without waiting); nothing if neither the value nor the end of the run is there by then.
  [[nodiscard]] std::optional<Result<Array>> get_until(std::string_view name, std::chrono::steady_clock::time_point deadline) const;

 private:
  friend class Executable;
  struct State;
  explicit Run(std::unique_ptr<State> state);
  /// Whether it belongs to the process that this one was forked from.
  [[nodiscard]] bool left_to_parent() const;
  void leave_to_parent();
  [[nodiscard]] Result<Array> output_in_child(std::string_view name) const;
  std::unique_ptr<State> state_;
};

/// A planned program. A handle: copies share the plan and the executors. May be used by several threads at once.
class Executable {
 public:
  /// Everything that was decided, as values: placement, transfers, diagnostics, program.
  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] const Diagnostics& diagnostics() const { return plan().diagnostics; }

  [[nodiscard]] std::string explain() const;  ///< the report of `cleave explain`
  [[nodiscard]] std::string json() const;     ///< the document of `cleave explain --json`
  [[nodiscard]] std::string dot() const;      ///< Graphviz source
  [[nodiscard]] std::string sarif() const;    ///< the diagnostics as SARIF 2.1.0

  /// Inputs by name. A call in braces, `run({{"x", x}})` or `run({})`, gives them in one way, as no map is made of braces below.
  using Inputs = std::map<std::string, Array>;
  using NamedInputs = std::initializer_list<std::pair<const std::string, Array>>;

  /// Runs and waits. Inputs and parameters by name; what is missing takes its default data or is an Error. Errors name node and line; the
  /// next run starts afresh.
  [[nodiscard]] Result<RunResult> run() const { return run_on(Inputs()); }
  [[nodiscard]] Result<RunResult> run(NamedInputs inputs) const { return run_on(Inputs(inputs)); }
  template <std::same_as<Inputs> Map>
  [[nodiscard]] Result<RunResult> run(Map inputs) const {
    return run_on(std::move(inputs));
  }
  [[nodiscard]] Result<RunResult> run(const RunOptions& options) const;
  /// Starts a run on a thread of its own and returns at once. Each run in flight has an executor, with its memory, to itself; a few
  /// executors are kept for later runs. Host functions may then be called by several runs at once. More than `runs_at_once` runs wait for
  /// their turn, in the order of submission, or until somebody waits for them; that also where the system has no thread for more. Where it
  /// has none at all, the outcome is an Error (machine).
  [[nodiscard]] Run submit() const { return submit_on(Inputs()); }
  [[nodiscard]] Run submit(NamedInputs inputs) const { return submit_on(Inputs(inputs)); }
  template <std::same_as<Inputs> Map>
  [[nodiscard]] Run submit(Map inputs) const {
    return submit_on(std::move(inputs));
  }
  [[nodiscard]] Run submit(RunOptions options) const;

  /// The value of the state (keep_state() in graph/states.h, `resident` of a model) that the input or parameter `name` is, as the last run
  /// that went well left it, once all runs before are over. Runs of a program with states follow one another in the order of submission
  /// (so that none may wait for another one, as a host function would that runs the program); each takes the states as the one before left
  /// them, unless it is given them as inputs, and one that fails leaves them as they were. What lies on the accelerator stays there; a run
  /// gives back no output that is the next value of a state. An Error (unknown) for another name, (usage) before the first run.
  [[nodiscard]] Result<Array> state(std::string_view name) const;
  /// Once all runs before are over: all states begin anew, with what the next run is given or the model has for them.
  Status reset_states() const;

 private:
  friend class Run;
  friend Result<Executable> compile(const Graph& graph, const CompileOptions& options, const DiagnosticSink& sink);
  struct State;
  explicit Executable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  [[nodiscard]] Result<RunResult> run_on(Inputs inputs) const;
  [[nodiscard]] Run submit_on(Inputs inputs) const;
  std::shared_ptr<State> state_;
};

/// Plans `graph` and readies it to run. An Error for a device or machine that cannot be had (usage), for the first error among the
/// diagnostics (of tracing, of planning, of an exceeded limit; all of them go to `sink`), and for what stops the executor.
Result<Executable> compile(const Graph& graph, const CompileOptions& options = {}, const DiagnosticSink& sink = nullptr);

}  // namespace cleave
