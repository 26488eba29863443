#include "executor/run/watchdog.h"

namespace cleave {

Watchdog::Watchdog(double seconds) : patience_(seconds), thread_([this] { watch(); }) {}

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

}  // namespace cleave
