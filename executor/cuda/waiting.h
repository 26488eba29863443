// How a thread waits for the device: it spins while a core is free and the wait is short, then it sleeps until a driver event is done. A
// sleep has no fixed length (except the naps of Patience, which waits for words in memory).
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

/// Decides how long one wait spins before it sleeps.
class Lookout {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kLongest{1000};
  static constexpr std::int64_t kMostTaken = 2;

  /// The time, and the state of the waiting thread's core.
  struct Sight {
    Clock::time_point now;
    std::int64_t taken = 0;  ///< how often another thread took the core (involuntary context switches)
  };
  static Sight look();

  /// `cores`: how many this process may use; `others`: how many threads beside this one may run.
  Lookout(int cores, int others, std::function<Sight()> sight = look)
      : free_(cores > others), sight_(std::move(sight)), start_(free_ ? sight_() : Sight{}) {}

  /// True if the thread should query again at once. After the first false it stays false.
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

/// Paces a thread that polls memory, where no event can wake it. A nap is a fraction of the time waited so far, so that the wait is longer
/// than necessary by at most that fraction.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kAwake{100}, kShortest{50}, kLongest{1000};
  static constexpr int kPart = 50;
  static constexpr int kGlances = 32;  ///< reads of memory before the clock is read, which takes longer than all of them

  /// The length of the nap after a wait of `waited`; zero: do not sleep, only yield the core.
  static Clock::duration length(Clock::duration waited) {
    if (waited < kAwake) return {};
    return std::clamp<Clock::duration>(waited / kPart, kShortest, kLongest);
  }
  void nap() const;
  /// A pause instruction between two reads of memory, which leaves the core to its other hardware thread.
  static void relax();

 private:
  Clock::time_point start_ = Clock::now();
};

/// Sleeps until one of several events is done, or `call` is called. The driver's own wait cannot be cancelled, so separate threads do it,
/// one for each slot. If the device never answers, these threads are detached.
class Sleeper {
 public:
  static constexpr std::size_t kSlots = 3;

  Sleeper() = default;
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { end(true); }

  /// A counter that changes with each occurrence that ends a sleep. Read it before checking whether a sleep is needed.
  [[nodiscard]] std::uint64_t now() const;
  /// Watches `event` in `slot`, unless another event is watched there; false: no thread could be created.
  bool watch(const DriverApi& api, CUcontext context, std::size_t slot, CUevent event);
  /// True while a thread still waits for `event`, which then must not be recorded again.
  [[nodiscard]] bool watches(std::size_t slot, CUevent event) const;
  /// Sleeps until `now()` is no longer `then`, or until `deadline`.
  void sleep(std::uint64_t then, std::optional<Lookout::Clock::time_point> deadline = std::nullopt) const;
  /// Ends every sleep. From any thread.
  void call();
  /// Ends the threads. `wait`: joins them, which waits for the driver; otherwise detaches them.
  void end(bool wait);

 private:
  struct Slot {
    DriverApi api;
    CUcontext context = nullptr;
    CUevent event = nullptr;  ///< null: no event is watched
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
