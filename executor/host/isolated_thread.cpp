#include "executor/host/isolated_thread.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "graph/base/stop.h"
#include "graph/base/thread.h"

namespace cleave::runtime::host {
namespace {

constexpr std::chrono::milliseconds kLook{5};

/// Counts detached threads. They run library code, which is unloaded when the process ends, so the destructor waits for them.
class LeftBehind {
 public:
  ~LeftBehind() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
  }
  void change(int by) {
    const std::lock_guard lock(mutex_);
    running_ += by;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
};

LeftBehind& left_behind() {
  static LeftBehind threads;
  return threads;
}

struct Job {
  std::function<void()> work;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false, left = false;
  std::exception_ptr thrown;

  void run() {
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    work = nullptr;
    thrown = failure;
    done = true;
    if (left) left_behind().change(-1);
    changed.notify_all();
  }
  /// Waits for the work; false: the run was stopped and the thread is left behind.
  bool wait() {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kLook, [this] { return done; })) {
      if (!detail::stop_sign->stopped()) continue;
      left = true;
      left_behind().change(1);
      return false;
    }
    return true;
  }
};

}  // namespace

void run_isolated(std::function<void()> work) {
  if (!detail::stop_sign) return work();
  look_at_stop();
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  Result<Thread> thread = Thread::start([job] { job->run(); });
  if (!thread) return job->work();
  if (!job->wait()) {
    thread->detach();
    throw Stopped();
  }
  thread->join();
  if (job->thrown) std::rethrow_exception(job->thrown);
}

}  // namespace cleave::runtime::host
