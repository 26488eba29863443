#include "executor/run/watchdog.h"

namespace cleave::runtime {

Result<std::unique_ptr<Watchdog>> Watchdog::create(double seconds) {
  std::unique_ptr<Watchdog> watchdog(new Watchdog(seconds));
  Result<Thread> thread = Thread::start([w = watchdog.get()] { w->watch(); });
  if (!thread) return thread.error();
  watchdog->thread_ = *std::move(thread);
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

void Watchdog::begin(const RunState& run, std::function<void()> give_up) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    run_ = &run;
    give_up_ = std::move(give_up);
    new_run_ = true;
    wake = asleep_;
  }
  if (wake) changed_.notify_all();
}

void Watchdog::end() {
  const std::lock_guard lock(mutex_);
  run_ = nullptr;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    asleep_ = true;
    changed_.wait(lock, [this] { return leaving_ || run_; });
    asleep_ = false;
    while (!leaving_ && run_) {
      look();
      changed_.wait_for(lock, patience_ / 8, [this] { return leaving_; });
    }
  }
}

void Watchdog::look() {
  const std::uint64_t now = run_->progressed();
  if (new_run_ || now != seen_ || run_->executing()) {
    new_run_ = false;
    seen_ = now;
    since_ = Clock::now();
  } else if (Clock::now() - since_ >= patience_) {
    give_up_();
    run_ = nullptr;
  }
}

}  // namespace cleave::runtime
