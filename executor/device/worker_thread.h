// WorkerThread: a reusable thread that executes one job after another for its owner. Starting a job costs a wake-up instead of a thread
// creation.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "graph/base/thread.h"

namespace cleave::runtime {

class WorkerThread {
 public:
  /// Starts the thread. An Error (machine) if the system cannot create one.
  static Result<std::unique_ptr<WorkerThread>> create() {
    std::unique_ptr<WorkerThread> worker(new WorkerThread);
    Result<Thread> thread = Thread::start([w = worker.get()] { w->work(); });
    if (!thread) return thread.error();
    worker->thread_ = *std::move(thread);
    return worker;
  }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  /// Waits for the job under way and ends the thread.
  ~WorkerThread() {
    change([this] { leaving_ = true; });
    thread_.join();
  }

  /// Starts a job. Must be called only when no job is under way.
  void start(std::function<void()> job) {
    change([&] { job_ = std::move(job); });
  }
  /// Waits until the last started job is done.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !job_; });
  }

 private:
  WorkerThread() = default;
  template <class F>
  void change(F&& f) {
    {
      const std::lock_guard lock(mutex_);
      f();
    }
    changed_.notify_all();
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_ || leaving_; });
      if (!job_) return;
      lock.unlock();
      job_();  // no other thread touches it until it is null
      lock.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool leaving_ = false;
  Thread thread_;  ///< last member: its thread uses those above
};

}  // namespace cleave::runtime
