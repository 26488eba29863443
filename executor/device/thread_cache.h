// ThreadCache: the process's idle threads, lent to the runs that are under way. An executor between two runs holds none, however many
// executors there are.
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
  /// The process's. It lives as long as somebody holds it.
  static std::shared_ptr<ThreadCache> shared();
  /// An idle thread, or else a new one. An Error (machine) where the system gives none.
  static Result<LentThread> lend(std::shared_ptr<ThreadCache> from);
  /// Starts threads until so many could be lent at once: then the next runs do not fail for want of threads.
  static Status warm(const std::shared_ptr<ThreadCache>& cache, std::size_t threads);
  /// How often the system gave none.
  [[nodiscard]] int refused() const { return refused_; }
  /// For those who were refused: one at a time tries again. Of runs that each had some of the last threads, one gets all that it needs.
  [[nodiscard]] std::mutex& second_try() { return second_try_; }

 private:
  friend class LentThread;
  static constexpr std::size_t kMostIdle = 8;  ///< two runs on the simulated accelerator take so many

  void give_back(std::unique_ptr<WorkerThread> thread);

  std::mutex mutex_, second_try_;
  std::atomic<int> refused_ = 0;
  std::vector<std::unique_ptr<WorkerThread>> idle_;
};

/// A thread of the cache for as long as this lives, or none. Destruction waits for the job under way and gives the thread back.
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
