// TimeLimit: `run --time-limit SECONDS`. It stops the current run when the time is over. If the run does not stop, because a host function
// does not return, it ends the process and reports where the run was.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "executor/run/executor.h"
#include "graph/base/thread.h"
#include "graph/graph.h"
#include "tools/cli/session.h"

namespace cleave::cli {

class TimeLimit {
 public:
  /// Starts the clock. The arguments must outlive the TimeLimit. An Error if the system provides no thread.
  static Result<std::unique_ptr<TimeLimit>> start(double seconds, runtime::Executor& executor, const Graph& graph, const Console& console);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  /// Cancels the limit; the runs have finished or were stopped.
  ~TimeLimit();
  /// Ends the process with `code` if the time is over, without waiting for libraries that still compute.
  void leave_if_over(int code);

 private:
  TimeLimit(double seconds, runtime::Executor& executor, const Graph& graph, const Console& console)
      : seconds_(seconds), executor_(executor), graph_(graph), console_(console) {}
  void watch();
  /// Reports that the run did not stop when told to; returns the exit code.
  [[nodiscard]] int give_up() const;
  /// Whether the TimeLimit was cancelled within `seconds`.
  bool done_in(double seconds);
  /// The error message, with the node that the host is computing, if any.
  [[nodiscard]] Error over(const std::string& more) const;

  const double seconds_;
  runtime::Executor& executor_;
  const Graph& graph_;
  const Console& console_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false, over_ = false;
  Thread thread_;  ///< last member, as it uses the others
};

}  // namespace cleave::cli
