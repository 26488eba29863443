// Progress on a terminal during long operations: one line at the bottom, overwritten in place and cleared afterwards. Shows nothing in a
// pipe, or with --quiet or --json.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "executor/report/progress.h"
#include "graph/base/thread.h"
#include "tools/cli/options.h"

namespace cleave::cli {

/// Whether progress may be shown: standard error is a terminal, or `--progress` asks for it.
bool shows_progress(const Options& options);

class StatusLine {
 public:
  explicit StatusLine(bool on) : on_(on) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool on() const { return on_; }
  void show(std::string_view text);
  /// Must be called before other output.
  void clear();

 private:
  const bool on_;
  std::mutex mutex_;
  bool shown_ = false;
};

/// Formats the current step, the rate and the time left.
class ProgressText {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ProgressText(Clock::time_point start) : start_(start) {}
  /// `logged` and `transfers`: more to say about the step, with a comma in front.
  [[nodiscard]] std::string at(Clock::time_point now, const std::optional<RunProgress::Step>& step, const std::string& logged = {},
                               const std::string& transfers = {});
  [[nodiscard]] Clock::time_point start() const { return start_; }

 private:
  Clock::time_point start_;
  std::optional<RunProgress::Step> first_;  ///< the step from which the rate is computed
  Clock::time_point first_at_;
};

/// During its lifetime, a thread polls the progress of runs and shows it once a run takes longer than a second.
class ProgressWatch {
 public:
  /// `runs`: number of runs; `on`: false if another part of the program uses the line.
  /// `logged`: the numbers that the program logged last; `transfers`: of a step.
  ProgressWatch(StatusLine& line, const RunProgress& progress, std::int64_t runs, bool on, std::function<std::string()> logged,
                std::string transfers);
  ~ProgressWatch() { end(); }

  void begin_run(std::int64_t number) { run_.store(number, std::memory_order_relaxed); }
  /// Stops polling and clears the line.
  void end();

 private:
  void watch();
  void show();

  StatusLine& line_;
  const RunProgress& progress_;
  const std::int64_t runs_;
  const std::function<std::string()> logged_;
  const std::string transfers_;
  std::atomic<std::int64_t> run_ = 0;
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  Thread thread_;
};

}  // namespace cleave::cli
