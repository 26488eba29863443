// StepCollector: gathers the numbers that a run logs into steps (executor/report/metrics.h), and hands each step to the caller when its
// trip has ended. The thread that walks the host's program calls it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/arguments/run_options.h"
#include "executor/report/metrics.h"

namespace cleave::runtime {

class StepCollector {
 public:
  explicit StepCollector(const Graph& graph);

  /// Must be called before each run. `options` must outlive the run.
  void begin(const RunOptions& options);
  /// Called when a trip of any loop begins, and when the loop has ended.
  void enter(NodeId loop) {
    if (loop == continued_) repeats_ = false;
    if (!loops_.empty() && logs(loop)) next_trip(true);
  }
  void leave(NodeId loop) {
    if (loop == continued_) repeats_ = false;
    if (!loops_.empty() && logs(loop)) next_trip(false);
  }
  /// Called with each logged number. An Error for a NaN at which the run is to stop, or if the caller's `on_log` has failed.
  Status log(std::string_view label, const Array& value);
  /// Must be called after each run, also after a failed one: hands over the step under way. An Error if `on_log` has failed.
  Status finish();

  /// Called at the end of a trip of the outermost loop: hands over the step under way. Returns where the log stands then.
  SavedPosition mark();

  /// Steps that have ended, counted on from the run's first one.
  [[nodiscard]] std::int64_t steps() const { return step_; }
  /// The NaN at which a run was stopped.
  struct LoggedNan {
    std::string_view label;
    std::string text;  ///< "`loss` is NaN in step 3"
  };
  [[nodiscard]] const std::optional<LoggedNan>& nan() const { return nan_; }

 private:
  [[nodiscard]] bool logs(NodeId loop) const;
  void next_trip(bool begins);
  void hand_over();
  [[nodiscard]] double seconds() const;

  const std::vector<NodeId> loops_;        ///< the logging loops
  const std::vector<std::string> labels_;  ///< that are logged inside of them
  const NodeId continued_;                 ///< the loop in whose middle a run can begin
  const RunOptions* options_ = nullptr;
  std::chrono::steady_clock::time_point start_;
  std::int64_t step_ = 0;
  bool in_trip_ = false;
  bool own_step_ = false;  ///< what was logged outside of the logging loops is a step of its own
  bool repeats_ = false;   ///< what stands before the loop has been logged by the run that is continued
  LoggedStep current_;
  std::optional<LoggedNan> nan_;
  Status told_;
};

}  // namespace cleave::runtime
