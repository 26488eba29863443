// RunState: what the threads of one run share: one lock, one way to wait, the first error in program order, and what is being executed.
// A wait ends when what it waits for is there, or when an error precedes it: then it can never come.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "executor/device/position.h"
#include "graph/base/result.h"

namespace cleave::runtime {

class RunState {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Waited : std::uint8_t { ready, stopped, late };

  /// `describe` gives an error of a node its name and line.
  explicit RunState(std::function<Error(NodeId, Error)> describe = nullptr) : describe_(std::move(describe)) {}

  /// Keeps the error that is earliest in program order; wakes everybody whom it concerns.
  void fail(const Origin& origin, Error error);
  /// As `fail` before everything, unless there is an error already; from then on `stops` holds everywhere.
  void end(const Error& error);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// True if an error stands at `at` or before it: nothing there may start any more.
  [[nodiscard]] bool stops(const Position& at) const;
  [[nodiscard]] std::optional<Error> error() const;

  /// Changes what others wait for.
  template <class F>
  void update(F&& change) {
    {
      std::lock_guard lock(mutex_);
      change();
    }
    progress();
    changed_.notify_all();
  }
  /// Waits until `ready()`, which is called under the lock. `who` (none: nobody whom the program would miss) waits on behalf of `origin`.
  Waited wait(DeviceId who, const Origin& origin, const std::function<bool()>& ready,
              std::optional<Clock::time_point> deadline = std::nullopt);

  /// Says who waits for what, while a wait happens elsewhere (on a device's event).
  void set_waiting(DeviceId who, NodeId node);
  void clear_waiting(DeviceId who);
  /// The nodes that somebody waits for, host first.
  [[nodiscard]] std::vector<std::pair<DeviceId, NodeId>> waiting() const;

  // --- what the watchdog looks at ---------------------------------------------------------------------------------------------------
  void progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t progressed() const { return progress_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool executing() const { return executing_.load(std::memory_order_relaxed) > 0; }
  /// A step is being executed while this lives.
  class Executing {
   public:
    explicit Executing(RunState& run) : run_(run) { run_.executing_.fetch_add(1, std::memory_order_relaxed); }
    Executing(const Executing&) = delete;
    Executing& operator=(const Executing&) = delete;
    ~Executing() {
      run_.progress();
      run_.executing_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    RunState& run_;
  };

 private:
  std::function<Error(NodeId, Error)> describe_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> failed_ = false;
  Position failed_at_;
  std::optional<Error> error_;
  std::map<DeviceId, NodeId> waiting_;
  std::atomic<int> executing_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace cleave::runtime
