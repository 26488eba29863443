// TimeLimit: `run --time-limit SECONDS`. Ends the run under way when the time is over; where that does not help, as a host function does
// not come back, ends the process and says where it was.
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
  /// Counts from now on. What it is given outlives it. An Error where the system gives no thread.
  static Result<std::unique_ptr<TimeLimit>> start(double seconds, runtime::Executor& executor, const Graph& graph, const Console& console);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  /// All is done in time, or was ended.
  ~TimeLimit();
  /// Ends the process with `code` if the time is over: what a library still computes is not waited for.
  void leave_if_over(int code);

 private:
  TimeLimit(double seconds, runtime::Executor& executor, const Graph& graph, const Console& console)
      : seconds_(seconds), executor_(executor), graph_(graph), console_(console) {}
  void watch();
  /// Says that the run did not end when it was told to; gives the exit code.
  [[nodiscard]] int give_up() const;
  /// True if all was done before so many seconds are over.
  bool done_in(double seconds);
  /// Says at which node, if the host computes one.
  [[nodiscard]] Error over(const std::string& more) const;

  const double seconds_;
  runtime::Executor& executor_;
  const Graph& graph_;
  const Console& console_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false, over_ = false;
  Thread thread_;  ///< last: it uses the above
};

}  // namespace cleave::cli
