// RunState: the state that the threads of one run share: one lock, one way to wait, the first error in program order, and the steps that
// are being executed. A wait ends when its condition holds, or when an error precedes it in program order, since then the condition may
// never hold.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "executor/device/position.h"
#include "graph/base/result.h"
#include "graph/base/stop.h"

namespace cleave::runtime {

class RunState {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Waited : std::uint8_t { ready, stopped, late };

  /// `describe` gives an error of a node its name and line.
  explicit RunState(std::function<Error(NodeId, Error)> describe = nullptr) : describe_(std::move(describe)) {}

  /// Keeps the error that is earliest in program order, and wakes all threads that it concerns.
  void fail(const Origin& origin, Error error);
  /// Records an error that precedes everything, unless there is an error already; from then on `stops` is true at every position.
  void end(const Error& error);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// True if an error is at or before position `at`: nothing at `at` may start any more.
  [[nodiscard]] bool stops(const Position& at) const { return failed() && stops_known(at); }
  [[nodiscard]] std::optional<Error> error() const;

  /// Reads state that other threads change, under the lock.
  template <class F>
  auto look(F&& read) const {
    const std::lock_guard lock(mutex_);
    return read();
  }
  /// Changes state that other threads wait for, under the lock, and wakes them.
  template <class F>
  void update(F&& change) {
    {
      std::lock_guard lock(mutex_);
      change();
    }
    progress();
    changed_.notify_all();
  }
  /// Waits until `ready()`, which is called under the lock, returns true. The device `who` waits on behalf of `origin`; an invalid `who` is
  /// a helper thread, which is not counted as waiting.
  Waited wait(DeviceId who, const Origin& origin, const std::function<bool()>& ready,
              std::optional<Clock::time_point> deadline = std::nullopt);

  /// Records that a device waits for a node, while the wait itself happens elsewhere (on a device's event).
  void set_waiting(DeviceId who, NodeId node);
  void clear_waiting(DeviceId who);
  /// The nodes that devices wait for, the host's first.
  [[nodiscard]] std::vector<std::pair<DeviceId, NodeId>> waiting() const;

  /// Scope of work for `origin` that waits for something outside the run. The work is told to stop waiting when an error is at or before
  /// its position. Several may be active at once.
  class Interruptible {
   public:
    Interruptible(RunState& run, const Origin& origin);
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;
    ~Interruptible();
    [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

   private:
    friend class RunState;
    RunState& run_;
    const Origin& origin_;
    std::stop_source source_;
    bool told_ = false;
    Interruptible* next_ = nullptr;
  };

  // --- what the watchdog looks at ---------------------------------------------------------------------------------------------------
  void progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t progressed() const {
    std::uint64_t* watched = watched_.load(std::memory_order_relaxed);
    return progress_.load(std::memory_order_relaxed) + (watched ? std::atomic_ref(*watched).load(std::memory_order_relaxed) : 0);
  }
  /// Registers a word that grows while a device makes progress by itself. It must live as long as this run.
  void watch(std::uint64_t* word) { watched_.store(word, std::memory_order_relaxed); }
  [[nodiscard]] bool executing() const { return executing_.load(std::memory_order_relaxed) > 0; }
  /// The node that the host is executing, if any: among calls that wait for something outside the run, the first in program order.
  [[nodiscard]] std::optional<NodeId> computing() const;
  /// Scope in which a step is executed for `origin`, by the host (`node` is the step's) or for a device. The thread's work is no longer
  /// wanted once an error is at or before the position.
  class Executing final : public StopSign {
   public:
    explicit Executing(RunState& run, const Position& at, NodeId node = {}) : run_(run), at_(at), node_(node), under_(this) {
      run_.executing_.fetch_add(1, std::memory_order_relaxed);
      if (node_.valid()) run_.computing_.store(node_, std::memory_order_relaxed);
    }
    ~Executing() {
      if (node_.valid()) run_.computing_.store({}, std::memory_order_relaxed);
      run_.progress();
      run_.executing_.fetch_sub(1, std::memory_order_relaxed);
    }
    [[nodiscard]] bool stopped() const override { return run_.stops(at_); }

   private:
    RunState& run_;
    const Position& at_;
    const NodeId node_;
    const UnderSign under_;
  };

 private:
  [[nodiscard]] bool stops_known(const Position& at) const;
  // Called under the lock.
  void note_waiting(DeviceId who, NodeId node);
  void forget_waiting(DeviceId who);
  /// Interrupts all waits that the error concerns. Called without the lock, since the callbacks may do anything.
  void interrupt();

  std::function<Error(NodeId, Error)> describe_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> failed_ = false;
  Position failed_at_;
  std::optional<Error> error_;
  std::vector<std::pair<DeviceId, NodeId>> waiting_;  ///< one entry a waiting device
  Interruptible* interruptible_ = nullptr;            ///< head of a list
  std::atomic<int> executing_ = 0;
  std::atomic<NodeId> computing_ = NodeId();
  std::atomic<std::uint64_t> progress_ = 0;
  std::atomic<std::uint64_t*> watched_ = nullptr;
};

}  // namespace cleave::runtime
