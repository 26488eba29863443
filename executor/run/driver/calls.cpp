#include "executor/run/driver/calls.h"

#include "graph/base/exceptions.h"

namespace cleave::runtime {

void Calls::begin(RunState& run) {
  end();
  run_ = &run;
}

void Calls::start(Call& call) {
  call.over_ = false;
  bool needs_thread = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(&call);
    needs_thread = waiting_.size() > idle_ && threads_.size() < workers_;
  }
  changed_.notify_all();
  if (!needs_thread) return;
  Result<LentThread> thread = ThreadCache::lend(ThreadCache::shared());
  if (thread) {
    threads_.push_back(*std::move(thread));
    threads_.back()->start([this] { work(); });
    return;
  }
  if (!threads_.empty()) return;  // an existing thread takes the call
  waiting_.clear();
  run(call);
}

void Calls::wait(const Call& call) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return call.over_; });
}

void Calls::wait_or_drop(Call& call) {
  {
    const std::lock_guard lock(mutex_);
    if (std::erase(waiting_, &call) > 0) call.over_ = true;
  }
  wait(call);
}

void Calls::end() {
  if (threads_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  threads_.clear();  // each destructor waits for its thread
  leaving_ = false;
}

/// The loop of one worker thread, until the run ends.
void Calls::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return leaving_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    Call& call = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    run(call);
    lock.lock();
  }
}

void Calls::run(Call& call) {
  call.begun = RunState::Clock::now();
  call.status = {};
  const bool wanted = !run_->stops(call.here.position);
  if (wanted) call.status = detail::guard_memory([&] { return call.work(call); });
  call.ended = RunState::Clock::now();
  if (!call.status) run_->fail(call.here, call.status.error());
  {
    const std::lock_guard lock(mutex_);
    call.over_ = true;
  }
  changed_.notify_all();
}

}  // namespace cleave::runtime
