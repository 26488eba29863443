// What is shown on a terminal while something takes long, and gone afterwards: one line at the bottom, overwritten in place. In a pipe, and
// with --quiet or --json, nothing at all.
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

/// Whether anything may be shown: standard error is a terminal.
bool shows_progress(const Options& options);

class StatusLine {
 public:
  explicit StatusLine(bool on) : on_(on) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool on() const { return on_; }
  void show(std::string_view text);
  /// Before anything else is printed.
  void clear();

 private:
  const bool on_;
  std::mutex mutex_;
  bool shown_ = false;
};

/// Step, rate and time left, as text.
class ProgressText {
 public:
  using Clock = std::chrono::steady_clock;
  explicit ProgressText(Clock::time_point start) : start_(start) {}
  [[nodiscard]] std::string at(Clock::time_point now, const std::optional<RunProgress::Step>& step);
  [[nodiscard]] Clock::time_point start() const { return start_; }

 private:
  Clock::time_point start_;
  std::optional<RunProgress::Step> first_;  ///< from where the rate is counted
  Clock::time_point first_at_;
};

/// While it lives, looks at runs now and then from a thread of its own, and shows how far they are once that takes longer than a second.
class ProgressWatch {
 public:
  /// Of `runs` runs; unless `on`, somebody else has the line.
  ProgressWatch(StatusLine& line, const RunProgress& progress, std::int64_t runs, bool on);
  ~ProgressWatch() { end(); }

  void begin_run(std::int64_t number) { run_.store(number, std::memory_order_relaxed); }
  /// Looks no more, and leaves nothing on the terminal.
  void end();

 private:
  void watch();
  void show();

  StatusLine& line_;
  const RunProgress& progress_;
  const std::int64_t runs_;
  std::atomic<std::int64_t> run_ = 0;
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  Thread thread_;
};

}  // namespace cleave::cli
