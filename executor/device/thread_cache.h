// ThreadCache: the process's cache of idle threads, which are lent to the runs in progress. An executor without a run holds no thread,
// however many executors there are.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "executor/device/worker_thread.h"
#include "executor/runtime.h"

namespace cleave::runtime {

class LentThread;

class ThreadCache {
 public:
  /// The process's cache. It lives as long as any caller holds it.
  static std::shared_ptr<ThreadCache> shared();
  /// Lends an idle thread, or else a new one. An Error (machine) if the system cannot create a thread.
  static Result<LentThread> lend(std::shared_ptr<ThreadCache> from);
  /// Starts threads until `threads` of them could be lent at once, so that the next runs do not fail for lack of threads.
  static Status warm(const std::shared_ptr<ThreadCache>& cache, std::size_t threads);
  /// How often the system could not create a thread.
  [[nodiscard]] int refused() const { return refused_; }
  /// Lock for callers whose `lend` failed: they retry one at a time. So if several runs each hold some of the last threads, one of them
  /// gets all that it needs.
  [[nodiscard]] std::mutex& second_try() { return second_try_; }

 private:
  friend class LentThread;
  static constexpr std::size_t kMostIdle = 8;  ///< two runs on the simulated accelerator need this many

  void give_back(std::unique_ptr<WorkerThread> thread);

  std::mutex mutex_, second_try_;
  std::atomic<int> refused_ = 0;
  std::vector<std::unique_ptr<WorkerThread>> idle_;
};

/// A thread borrowed from the cache for the lifetime of this object, or none. The destructor waits for the job under way and returns the
/// thread.
class LentThread {
 public:
  LentThread() = default;
  LentThread(LentThread&&) noexcept = default;
  LentThread& operator=(LentThread&& other) noexcept {
    give_back();
    cache_ = std::move(other.cache_);
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~LentThread() { give_back(); }
  WorkerThread* operator->() const { return thread_.get(); }
  explicit operator bool() const { return thread_ != nullptr; }

 private:
  friend class ThreadCache;
  LentThread(std::shared_ptr<ThreadCache> cache, std::unique_ptr<WorkerThread> thread)
      : cache_(std::move(cache)), thread_(std::move(thread)) {}
  void give_back() {
    if (thread_) cache_->give_back(std::move(thread_));
  }

  std::shared_ptr<ThreadCache> cache_;
  std::unique_ptr<WorkerThread> thread_;
};

}  // namespace cleave::runtime
