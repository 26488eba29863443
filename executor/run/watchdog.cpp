#include "executor/run/watchdog.h"

#include <algorithm>

#include "graph/base/forks.h"

namespace cleave::runtime {
namespace {

constexpr double kLongest = 1e6;  ///< seconds; clocks have less range than a double

}  // namespace

// --- Watch -----------------------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Watch>> Watch::create(double seconds) {
  Result<std::shared_ptr<Watchdog>> watchdog = Watchdog::shared();
  if (!watchdog) return watchdog.error();
  return std::unique_ptr<Watch>(new Watch(*std::move(watchdog), std::min(seconds, kLongest)));
}

void Watch::begin(const RunState& run, std::function<void()> give_up) {
  bool wake = false;
  {
    const std::lock_guard lock(watchdog_->mutex_);
    watchdog_->watches_.push_back(this);
    run_ = &run;
    give_up_ = std::move(give_up);
    new_run_ = true;
    // If the watchdog wakes soon enough by itself, a run need not wake it.
    wake = watchdog_->wakes_at_ > Clock::now() + std::chrono::duration_cast<Clock::duration>(patience_ / 4);
  }
  if (wake) watchdog_->changed_.notify_all();
}

void Watch::end() {
  const std::lock_guard lock(watchdog_->mutex_);
  run_ = nullptr;
  std::erase(watchdog_->watches_, this);
}

void Watch::look(Clock::time_point now) {
  if (!run_) return;
  const std::uint64_t progressed = run_->progressed();
  if (new_run_ || progressed != seen_ || run_->executing()) {
    new_run_ = false;
    seen_ = progressed;
    since_ = now;
  } else if (now - since_ >= patience_) {
    give_up_();
    run_ = nullptr;
  }
}

// --- Watchdog --------------------------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<Watchdog>> Watchdog::shared() {
  struct Known {
    std::mutex mutex;
    std::weak_ptr<Watchdog> watchdog;
  };
  static auto* const known = new PerProcess<Known>;
  Known& here = **known;
  const std::lock_guard lock(here.mutex);
  if (std::shared_ptr<Watchdog> watchdog = here.watchdog.lock()) return watchdog;
  std::shared_ptr<Watchdog> watchdog(new Watchdog);
  Result<Thread> thread = Thread::start([w = watchdog.get()] { w->work(); });
  if (!thread) return thread.error();
  watchdog->thread_ = *std::move(thread);
  here.watchdog = watchdog;
  return watchdog;
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Watchdog::Clock::time_point Watchdog::next_look(Clock::time_point now) const {
  std::chrono::duration<double> wait(kLongest);
  for (const Watch* watch : watches_) wait = std::min(wait, watch->patience_ / 8);
  return now + std::chrono::duration_cast<Clock::duration>(wait);
}

void Watchdog::work() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    const Clock::time_point now = Clock::now();
    for (Watch* watch : watches_) watch->look(now);
    wakes_at_ = next_look(now);
    changed_.wait_until(lock, wakes_at_);
  }
}

}  // namespace cleave::runtime
