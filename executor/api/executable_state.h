// What all copies of an Executable share: the plan, and the executors that are ready for the next run. A few of these are kept; what a
// burst of runs has made beyond them is let go again, and one that lost its device is not used again. A child made by fork has executors of
// its own: those of its parent need threads that only the parent has.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "executor/api/executable.h"
#include "executor/api/run_queue.h"
#include "executor/run/executor.h"
#include "graph/base/forks.h"

namespace cleave {

struct Executable::State {
  Plan plan;
  runtime::ExecutorSetup setup;
  std::size_t idle_executors = 0;  ///< as many are kept
  /// The program has states: its runs follow one another in the queue, and all of them take the one executor that has these.
  bool has_states = false;
  int runs_at_once = 1;

  struct Executors {
    std::shared_ptr<runtime::RunQueue> queue;
    std::shared_ptr<runtime::KeptLeaves> kept_leaves;
    std::mutex mutex;
    // Guarded by the mutex.
    std::vector<std::unique_ptr<runtime::Executor>> idle;
    bool states_left_behind = false;  ///< in the process that this one was forked from
  };
  PerProcess<Executors> executors{[this](Executors*) { return make_executors(); }};
  std::atomic<bool> has_run = false;
  const BornHere born{};

  /// One that was kept, or else a new one.
  Result<std::unique_ptr<runtime::Executor>> take();
  void put_back(std::unique_ptr<runtime::Executor> executor);
  Result<Array> state(std::string_view name);
  Status reset_states();

  /// Runs and waits. `announce` is told who runs, and afterwards null; if it says no, nothing runs.
  Result<RunResult> run(const RunOptions& run_options, const std::function<bool(runtime::Executor*)>& announce = nullptr);

 private:
  [[nodiscard]] std::unique_ptr<Executors> make_executors() const;
  [[nodiscard]] Result<RunResult> run_within_limits(runtime::Executor& executor, const RunOptions& options, bool first) const;
  [[nodiscard]] Status know(const std::map<std::string, Array>& inputs) const;
};

namespace runtime {

/// Tells the sink, if there is one. An Error if it throws.
Status tell(const DiagnosticSink& sink, const Diagnostic& diagnostic);

}  // namespace runtime
}  // namespace cleave
