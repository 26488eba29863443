// Watchdog: ends runs in which nothing has executed and nothing has moved for a given number of seconds. One thread watches all runs of
// the process. Its door is Watch.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "executor/device/run_state.h"
#include "graph/base/thread.h"

namespace cleave::runtime {

class Watchdog;

/// What an executor has the watchdog do, run after run.
class Watch {
 public:
  /// An Error (machine) where the system gives no thread.
  static Result<std::unique_ptr<Watch>> create(double seconds);

  /// Watches `run` until `end`; calls `give_up` at most once, from the watchdog's thread.
  void begin(const RunState& run, std::function<void()> give_up);
  /// After it the run is not touched.
  void end();

 private:
  friend class Watchdog;
  using Clock = RunState::Clock;
  Watch(std::shared_ptr<Watchdog> watchdog, double seconds) : watchdog_(std::move(watchdog)), patience_(seconds) {}
  void look(Clock::time_point now);

  const std::shared_ptr<Watchdog> watchdog_;
  const std::chrono::duration<double> patience_;
  // Guarded by the watchdog's lock.
  const RunState* run_ = nullptr;  ///< null: none, or given up already
  std::function<void()> give_up_;
  bool new_run_ = false;  ///< not looked at yet
  std::uint64_t seen_ = 0;
  Clock::time_point since_;
};

class Watchdog {
 public:
  static Result<std::shared_ptr<Watchdog>> shared();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

 private:
  friend class Watch;
  using Clock = Watch::Clock;
  Watchdog() = default;
  void work();
  /// When a run has to be looked at next. Under the lock.
  [[nodiscard]] Clock::time_point next_look(Clock::time_point now) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watch*> watches_;                            ///< with a run under way
  Clock::time_point wakes_at_ = Clock::time_point::max();  ///< by itself
  bool leaving_ = false;
  Thread thread_;  ///< last: it uses the above
};

}  // namespace cleave::runtime
