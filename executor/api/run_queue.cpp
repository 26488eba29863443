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
  if (job.waits_ && !in_order_ && start(job)) remove(job);  // else its turn comes when another is done
}

bool RunQueue::withdraw(Job& job) {
  const std::lock_guard lock(mutex_);
  return remove(job);
}

/// Under the lock, so that the job has its thread before anybody passes it on.
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

/// One job after the other on this thread, which belongs to the one under way.
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

}  // namespace cleave::runtime
