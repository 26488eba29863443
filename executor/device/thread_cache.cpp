#include "executor/device/thread_cache.h"

#include "graph/base/exceptions.h"
#include "graph/base/forks.h"

namespace cleave::runtime {

std::shared_ptr<ThreadCache> ThreadCache::shared() {
  struct Known {
    std::mutex mutex;
    std::weak_ptr<ThreadCache> cache;
  };
  static auto* const known = new PerProcess<Known>;
  Known& here = **known;
  const std::lock_guard lock(here.mutex);
  std::shared_ptr<ThreadCache> cache = here.cache.lock();
  if (!cache) here.cache = cache = std::make_shared<ThreadCache>();
  return cache;
}

Result<LentThread> ThreadCache::lend(std::shared_ptr<ThreadCache> from) {
  {
    const std::lock_guard lock(from->mutex_);
    if (!from->idle_.empty()) {
      std::unique_ptr<WorkerThread> thread = std::move(from->idle_.back());
      from->idle_.pop_back();
      return LentThread(std::move(from), std::move(thread));
    }
  }
  Result<std::unique_ptr<WorkerThread>> created = WorkerThread::create();
  if (!created) {
    ++from->refused_;
    return created.error();
  }
  return LentThread(std::move(from), *std::move(created));
}

Status ThreadCache::warm(const std::shared_ptr<ThreadCache>& cache, std::size_t threads) {
  std::vector<LentThread> lent;
  while (lent.size() < threads) {
    Result<LentThread> thread = lend(cache);
    if (!thread) return thread.error();
    lent.push_back(*std::move(thread));
  }
  return {};
}

void ThreadCache::give_back(std::unique_ptr<WorkerThread> thread) {
  thread->wait();
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= kMostIdle) return;  // destroyed in the caller's frame, after the lock is released
  // If there is no memory to keep the thread, it ends.
  (void)detail::guard_memory([&] {
    idle_.push_back(std::move(thread));
    return Status();
  });
}

}  // namespace cleave::runtime
