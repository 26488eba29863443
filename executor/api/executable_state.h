// The state that all copies of an Executable share: the plan, and the idle executors for the next runs. A few executors are kept; further
// ones that a burst of runs created are destroyed, and one that lost its device is not reused. A child process made by fork has executors
// of its own, since its parent's executors need threads that exist only in the parent.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/api/executable.h"
#include "executor/api/run_queue.h"
#include "executor/run/executor.h"
#include "graph/base/forks.h"
#include "graph/trace/save_points.h"
#include "partitioner/plan_file.h"

namespace cleave {

struct Executable::State {
  Plan plan;
  runtime::ExecutorSetup setup;
  std::size_t idle_executors = 0;  ///< maximum number of executors kept
  /// The program has states: its runs follow one another in the queue, and all of them use the one executor that holds the states.
  bool has_states = false;
  int runs_at_once = 1;
  SaveOptions save;
  planner::PlanSettings settings;         ///< for Executable::save
  std::optional<SavePoints> save_points;  ///< without its graph, which the plan has

  struct Executors {
    std::shared_ptr<runtime::RunQueue> queue;
    std::shared_ptr<runtime::KeptLeaves> kept_leaves;
    std::mutex mutex;
    // Guarded by the mutex.
    std::vector<std::unique_ptr<runtime::Executor>> idle;
    std::map<std::string, Array> loaded;    ///< values that the next run starts with
    std::optional<SavedPosition> position;  ///< where the next run goes on
    bool states_left_behind = false;        ///< the states are in the process from which this one was forked
  };
  PerProcess<Executors> executors{[this](Executors*) { return make_executors(); }};
  std::atomic<bool> has_run = false;
  std::mutex counting;
  RunCounters counters;  ///< guarded by `counting`
  const BornHere born{};

  /// Returns a kept executor, or else a new one.
  Result<std::unique_ptr<runtime::Executor>> take();
  void put_back(std::unique_ptr<runtime::Executor> executor);
  Result<Array> state(std::string_view name);
  Status reset_states();
  Status save_states(const std::string& path);
  Status load_states(const std::string& path);
  Status add_save_points(const Graph& graph);

  /// Runs the program and waits. `announce` is called with the executor before the run, and with null after it; if it returns false,
  /// nothing runs.
  Result<RunResult> run(const RunOptions& run_options, const std::function<bool(runtime::Executor*)>& announce = nullptr);
  /// Adds a run that is over, and how long it waited for its turn.
  void count(const Result<RunResult>& result, std::chrono::duration<double> waited);

 private:
  [[nodiscard]] std::unique_ptr<Executors> make_executors() const;
  [[nodiscard]] Result<RunResult> run_within_limits(runtime::Executor& executor, const RunOptions& options, bool first) const;
  [[nodiscard]] std::optional<RunOptions> with_loaded_states(const RunOptions& options);
  void forget_loaded_states();
  [[nodiscard]] Status know(const std::map<std::string, Array>& inputs) const;
};

namespace runtime {

/// Calls the sink, if there is one. An Error if it throws.
Status tell(const DiagnosticSink& sink, const Diagnostic& diagnostic);

}  // namespace runtime
}  // namespace cleave
