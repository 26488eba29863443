// Watchdog: ends a run in which nothing has executed and nothing has moved for a given number of seconds. Its thread is kept between runs;
// a run only wakes it where the one before has long been over.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "executor/device/run_state.h"
#include "graph/base/thread.h"

namespace cleave::runtime {

class Watchdog {
 public:
  /// An Error (machine) where the system gives no thread.
  static Result<std::unique_ptr<Watchdog>> create(double seconds);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  /// Watches `run` until `end`; calls `give_up` at most once, from its own thread.
  void begin(const RunState& run, std::function<void()> give_up);
  /// After it the run is not touched.
  void end();

 private:
  using Clock = RunState::Clock;
  explicit Watchdog(double seconds) : patience_(seconds) {}
  void watch();
  void look();

  const std::chrono::duration<double> patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const RunState* run_ = nullptr;  ///< null: none, or given up already
  std::function<void()> give_up_;
  bool asleep_ = false, leaving_ = false;
  bool new_run_ = false;  ///< not looked at yet
  std::uint64_t seen_ = 0;
  Clock::time_point since_;
  Thread thread_;  ///< last: it uses the above
};

}  // namespace cleave::runtime
