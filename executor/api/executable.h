// compile(): turns a Graph into an Executable in one call: plans it (partitioner), opens its devices and prepares them (executor). The
// Executable runs once or many times, sequentially or concurrently.
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

#include "executor/api/run_counters.h"
#include "executor/arguments/run_options.h"
#include "executor/options.h"
#include "graph/base/diagnostic.h"
#include "graph/base/result.h"
#include "graph/graph.h"
#include "graph/shared_constants.h"
#include "partitioner/compile.h"

namespace cleave {

/// How a program saves its states during a run, and goes on there: `{.path = "states", .every = 100}`.
struct SaveOptions {
  std::string path = {};   ///< as of Executable::save_states
  std::int64_t every = 0;  ///< trips of the outermost loop after which the states are saved, and after its last one; 0: never
  /// A run may go on where another one saved its states on the way (Executable::load_states). Always so if `every` is not 0.
  bool continues = false;
};

/// `compile(graph, {.device = "simulated", .placement = Policy::fastest})`
struct CompileOptions {
  /// auto, none, simulated or cuda[:N]; auto is a GPU if one is usable, else the simulated accelerator.
  std::string device = "auto";
  Policy placement = Policy::optimal;
  std::string machine = {};             ///< a shipped machine's name or a machine file; empty: the one of the device
  DiagnosticOptions diagnostics = {};   ///< the kinds that are reported, as with the flags -W… of the command line
  bool tell_allowed = false;            ///< the sink also receives diagnostics that an allow() silenced (severity `allowed`)
  double accelerator_memory_bytes = 0;  ///< memory of the accelerator that may be used; 0: what the machine file says
  /// Under `all`, values never leave the accelerator's memory to be computed again; they are where that is cheaper under `automatic`, if
  /// the memory is too small.
  enum class Keep : std::uint8_t { automatic, all } keep = Keep::automatic;
  Profile profile = {};  ///< observed trip counts and times that replace assumed ones
  bool simplify = true;  ///< false: no pass runs
  PassOptions passes = {};
  ExecutorOptions executor = {};
  /// The outermost loop must carry all states: else compile() gives an Error at the loop's line.
  SaveOptions save = {};
  /// Maximum number of submitted runs under way at once, each with an executor (threads and memory) of its own; further runs wait in a
  /// queue.
  int runs_at_once = 32;
  int idle_executors = 4;  ///< maximum number of executors that are kept for later runs
  /// Constants, and what the host's kernels derive from them, are shared with other programs that were compiled with this object; null:
  /// they are not. specialize() shares them among its programs.
  std::shared_ptr<SharedConstants> constants = nullptr;
  /// For specialize(): while its programs take more bytes, the least recently used ones are discarded; 0: none is.
  double memory_limit_bytes = 0;
};

/// Called for each diagnostic, in order, before compile() returns; for silenced ones only with CompileOptions::tell_allowed.
using DiagnosticSink = std::function<void(const Diagnostic&)>;

/// Handle of one submitted run. Movable; the destructor waits for the run's end. May be used from several threads.
class Run {
 public:
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;
  ~Run();

  /// Whether the run is over, successful or not.
  [[nodiscard]] bool ready() const;
  /// Waits until the run is over; false if it is not at the deadline.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) const;
  /// Waits for the end of the run and returns its outcome; may be called again.
  [[nodiscard]] const Result<RunResult>& wait() const;
  /// Ends the run soon, also in the middle of an operation, unless it is over: its outcome is then the Error "cancelled". A host function
  /// under way is not interrupted; a run that waits in the queue never starts.
  void cancel();
  /// Waits for one output by name and returns it as soon as the host has its value, while the rest of the run goes on. The run's Error if
  /// that comes first or is the outcome; an Error (usage) for an unknown name.
  [[nodiscard]] Result<Array> get(std::string_view name) const;
  /// Like `get` with a deadline (a past one: without waiting); nullopt if neither the value nor the end of the run has come by then.
  [[nodiscard]] std::optional<Result<Array>> get_until(std::string_view name, std::chrono::steady_clock::time_point deadline) const;

 private:
  friend class Executable;
  struct State;
  explicit Run(std::unique_ptr<State> state);
  /// Whether the run belongs to the process from which this one was forked.
  [[nodiscard]] bool left_to_parent() const;
  void leave_to_parent();
  [[nodiscard]] Result<Array> output_in_child(std::string_view name) const;
  std::unique_ptr<State> state_;
};

/// A planned program. A handle: copies share the plan and the executors. May be used by several threads at once.
class Executable {
 public:
  /// All decisions as values: placement, transfers, diagnostics, program.
  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] const Diagnostics& diagnostics() const { return plan().diagnostics; }

  /// Bytes of the arenas of the executors that are kept, on all devices; constants are not counted.
  [[nodiscard]] std::int64_t memory_bytes() const;
  [[nodiscard]] std::string explain() const;  ///< the report of `cleave explain`
  [[nodiscard]] std::string json() const;     ///< the document of `cleave explain --json`
  [[nodiscard]] std::string dot() const;      ///< Graphviz source
  [[nodiscard]] std::string svg() const;      ///< the same picture as an SVG element, laid out without Graphviz
  [[nodiscard]] std::string html() const;     ///< the page of `cleave explain --html`, with that picture
  [[nodiscard]] std::string sarif() const;    ///< the diagnostics as SARIF 2.1.0

  /// Inputs by name. A call with braces, `run({{"x", x}})` or `run({})`, is unambiguous, since no overload below makes a map from braces.
  using Inputs = std::map<std::string, Array>;
  using NamedInputs = std::initializer_list<std::pair<const std::string, Array>>;

  /// Runs the program and waits. Inputs and parameters are given by name; a missing one takes its default data or is an Error. Errors name
  /// node and line; the next run starts afresh.
  [[nodiscard]] Result<RunResult> run() const { return run_on(Inputs()); }
  [[nodiscard]] Result<RunResult> run(NamedInputs inputs) const { return run_on(Inputs(inputs)); }
  template <std::same_as<Inputs> Map>
  [[nodiscard]] Result<RunResult> run(Map inputs) const {
    return run_on(std::move(inputs));
  }
  [[nodiscard]] Result<RunResult> run(const RunOptions& options) const;
  /// Starts a run on a thread of its own and returns at once. Each run in flight has an executor, with its memory, to itself; a few
  /// executors are kept for later runs. Host functions may then be called by several runs at once. If more than `runs_at_once` runs are
  /// submitted, or if the system cannot create another thread, further runs wait in the order of submission, or until a caller waits for
  /// them. If the system creates no thread at all, the outcome is an Error (machine).
  [[nodiscard]] Run submit() const { return submit_on(Inputs()); }
  [[nodiscard]] Run submit(NamedInputs inputs) const { return submit_on(Inputs(inputs)); }
  template <std::same_as<Inputs> Map>
  [[nodiscard]] Run submit(Map inputs) const {
    return submit_on(std::move(inputs));
  }
  [[nodiscard]] Run submit(RunOptions options) const;

  /// The value of the state (keep_state() in graph/states.h, `resident` of a model) of the input or parameter `name` after the last
  /// successful run; waits until all earlier runs are over. Runs of a program with states execute one after another in the order of
  /// submission, so a run must not wait for another one (as a host function would that runs the program). Each run continues with the
  /// states of the previous one, unless they are given as inputs; a run that fails leaves them unchanged. A state on the accelerator stays
  /// there; an output that is the next value of a state is not among the results of a run. An Error (unknown) for another name, (usage)
  /// before the first run.
  [[nodiscard]] Result<Array> state(std::string_view name) const;
  /// Resets all states to the values that the next run is given or that the model has for them, once all earlier runs are over.
  Status reset_states() const;
  /// Writes all states as a safetensors file, once all earlier runs are over: `path` itself if it ends in `.safetensors`, else
  /// `path/state.safetensors`, whose folder is created. The file that stood there stays until the new one is complete. An Error (usage) if
  /// the program has no states or has not run yet.
  Status save_states(const std::string& path) const;
  /// Reads such a file; the next run starts with its values, unless it is given others. One Error (file) lists all states that the file
  /// lacks, arrays that are no states, and arrays of another type; nothing is changed then. If the file was saved during a run
  /// (CompileOptions::save), the next run goes on in the trip of the loop that comes next: an Error (usage) unless this program is compiled
  /// for that.
  Status load_states(const std::string& path) const;

  /// The sums over the runs in this process so far. All numbers are of one moment.
  [[nodiscard]] RunCounters counters() const;

 private:
  friend class Run;
  friend Result<Executable> compile(const Graph& graph, const CompileOptions& options, const DiagnosticSink& sink);
  struct State;
  explicit Executable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  [[nodiscard]] Result<RunResult> run_on(Inputs inputs) const;
  [[nodiscard]] Run submit_on(Inputs inputs) const;
  std::shared_ptr<State> state_;
};

/// Plans `graph` and prepares it to run. An Error for a device or machine that is not available (usage), for the first error among the
/// diagnostics (of tracing, of planning, of an exceeded limit; all of them go to `sink`), and for an error of the executor.
Result<Executable> compile(const Graph& graph, const CompileOptions& options = {}, const DiagnosticSink& sink = nullptr);

}  // namespace cleave
