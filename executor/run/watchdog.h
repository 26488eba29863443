// Watchdog: ends runs in which no step has executed and no value has moved for a given number of seconds. One thread watches all runs of
// the process. Callers use only Watch.
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

/// An executor's registration with the watchdog, used for one run after another.
class Watch {
 public:
  /// An Error (machine) if the system cannot create a thread.
  static Result<std::unique_ptr<Watch>> create(double seconds);

  /// Watches `run` until `end`; calls `give_up` at most once, on the watchdog's thread.
  void begin(const RunState& run, std::function<void()> give_up);
  /// Once this returns, the watchdog does not access the run.
  void end();

 private:
  friend class Watchdog;
  using Clock = RunState::Clock;
  Watch(std::shared_ptr<Watchdog> watchdog, double seconds) : watchdog_(std::move(watchdog)), patience_(seconds) {}
  void look(Clock::time_point now);

  const std::shared_ptr<Watchdog> watchdog_;
  const std::chrono::duration<double> patience_;
  // Guarded by the watchdog's lock.
  const RunState* run_ = nullptr;  ///< null: no run, or one that was given up already
  std::function<void()> give_up_;
  bool new_run_ = false;  ///< the watchdog has not looked at the run yet
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
  /// The time at which a run has to be looked at next. Called under the lock.
  [[nodiscard]] Clock::time_point next_look(Clock::time_point now) const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watch*> watches_;                            ///< those with a run under way
  Clock::time_point wakes_at_ = Clock::time_point::max();  ///< the time at which the thread wakes by itself
  bool leaving_ = false;
  Thread thread_;  ///< last member: its thread uses those above
};

}  // namespace cleave::runtime
