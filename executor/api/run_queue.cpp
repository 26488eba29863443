#include "executor/api/run_queue.h"

#include <algorithm>

#include "graph/base/exceptions.h"

namespace cleave::runtime {

Status RunQueue::submit(Job& job) {
  const std::lock_guard lock(mutex_);
  Status started;
  if (threads_ < at_once_ && (started = start(job))) return {};
  if (threads_ == 0) return started;
  waiting_.push_back(&job);
  job.waits_ = true;
  return {};
}

void RunQueue::hurry(Job& job) {
  const std::lock_guard lock(mutex_);
  if (job.waits_ && !in_order_ && start(job)) remove(job);  // else it starts when another job is done
}

bool RunQueue::withdraw(Job& job) {
  const std::lock_guard lock(mutex_);
  return remove(job);
}

bool RunQueue::enter(Job& job) {
  const std::lock_guard lock(mutex_);
  if (threads_ == 0) {
    ++threads_;
    return true;
  }
  waiting_.push_back(&job);
  job.waits_ = true;
  return false;
}

void RunQueue::leave() {
  Job* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    --threads_;
    if (waiting_.empty()) return;
    next = waiting_.front();
    const bool started = start(*next).ok();
    remove(*next);
    if (started) return;
    ++threads_;
  }
  drive(next);  // if the system creates no thread, on this one
}

/// Called under the lock, so that the job has its thread before another thread can pass the thread on.
Status RunQueue::start(Job& job) {
  Result<Thread> thread =
      detail::guard_memory([&] { return Thread::start([queue = shared_from_this(), first = &job] { queue->drive(first); }); });
  if (!thread) return thread.error();
  job.thread_ = *std::move(thread);
  ++threads_;
  return {};
}

bool RunQueue::remove(Job& job) {
  if (!job.waits_) return false;
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &job));
  job.waits_ = false;
  return true;
}

/// Executes one job after the other on this thread, which belongs to the job under way.
void RunQueue::drive(Job* job) {
  while (job) {
    job->work();
    Job* next = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (threads_ <= at_once_ && !waiting_.empty()) {
        next = waiting_.front();
        waiting_.pop_front();
        next->waits_ = false;
        next->thread_ = std::move(job->thread_);
      } else {
        --threads_;
      }
    }
    job->finish();
    job = next;
  }
}

// --- Turn ------------------------------------------------------------------------------------------------------------------------------

RunQueue::Turn::Turn(std::shared_ptr<RunQueue> queue) : queue_(std::move(queue)), here_(queue_->enter(*this)) {
  if (!here_) wait_until(Phase::has_turn);
}

RunQueue::Turn::~Turn() {
  if (here_) {
    queue_->leave();
    return;
  }
  say(Phase::gives_up);
  wait_until(Phase::over);
  join();
}

void RunQueue::Turn::work() {
  say(Phase::has_turn);
  wait_until(Phase::gives_up);
}

void RunQueue::Turn::finish() {
  say(Phase::over);
}

void RunQueue::Turn::say(Phase phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  news_.notify_all();
}

void RunQueue::Turn::wait_until(Phase phase) {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return phase_ == phase; });
}

}  // namespace cleave::runtime
