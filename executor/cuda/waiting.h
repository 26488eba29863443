// How a thread waits for the device: it looks again and again while a core is free for that and the wait is short, then it sleeps until
// an event of the driver is done. No sleep has a length of its own.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "executor/cuda/driver_api.h"
#include "graph/base/thread.h"

namespace cleave::runtime::cuda {

/// How long one wait looks on before it sleeps.
class Lookout {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kLongest{1000};
  static constexpr std::int64_t kMostTaken = 2;

  /// What the waiting thread sees of its core.
  struct Sight {
    Clock::time_point now;
    std::int64_t taken = 0;  ///< how often another thread has had the core instead
  };
  static Sight look();

  /// `cores` are allowed, `others` are the threads beside this one that may run.
  Lookout(int cores, int others, std::function<Sight()> sight = look)
      : free_(cores > others), sight_(std::move(sight)), start_(free_ ? sight_() : Sight{}) {}

  /// Whether to look again at once; once it says no it says no for good.
  bool goes_on() {
    if (!free_) return false;
    const Sight now = sight_();
    free_ = now.now - start_.now < kLongest && now.taken - start_.taken <= kMostTaken;
    return free_;
  }

 private:
  bool free_;
  std::function<Sight()> sight_;
  Sight start_;
};

/// How a thread waits on that nobody wakes: its naps are a part of what it has waited, so that a wait is longer by no more than that.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kAwake{100}, kShortest{50}, kLongest{1000};
  static constexpr int kPart = 50;
  static constexpr int kGlances = 32;  ///< at memory before the clock is asked, which takes longer than all of them

  /// How long to sleep after so long a wait; zero: not at all, let others have the core.
  static Clock::duration length(Clock::duration waited) {
    if (waited < kAwake) return {};
    return std::clamp<Clock::duration>(waited / kPart, kShortest, kLongest);
  }
  void nap() const;
  /// Between two looks at memory: the core is the other one's of its pair meanwhile.
  static void relax();

 private:
  Clock::time_point start_ = Clock::now();
};

/// Sleeps until one of several events is done, or somebody calls. The driver's own wait cannot be called off, so it is left to threads
/// that do nothing else, one for each slot; of a device that never comes back they are let go.
class Sleeper {
 public:
  static constexpr std::size_t kSlots = 3;

  Sleeper() = default;
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(true); }

  /// Changes with all that ends a sleep: to be asked for before looking whether there is anything to sleep for.
  [[nodiscard]] std::uint64_t now() const;
  /// Watches `event` in `slot`, unless another is watched there; false: the system gives no thread.
  bool watch(const DriverApi& api, CUcontext context, std::size_t slot, CUevent event);
  /// Whether the driver is still asked about `event`: it must not be recorded anew.
  [[nodiscard]] bool watches(std::size_t slot, CUevent event) const;
  /// Until something has happened since `then`, or it is `deadline`.
  void sleep(std::uint64_t then, std::optional<Lookout::Clock::time_point> deadline = std::nullopt) const;
  /// Ends every sleep. From any thread.
  void call();
  /// Waits for the driver's answers, or does not.
  void end(bool wait);

 private:
  struct Slot {
    DriverApi api;
    CUcontext context = nullptr;
    CUevent event = nullptr;  ///< null: none is watched
    Thread thread;
    bool started = false;
  };
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t happened = 0;
    bool over = false;
    std::array<Slot, kSlots> slots;
  };
  static void work(State& state, std::size_t slot);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace cleave::runtime::cuda
