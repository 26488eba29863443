// Thread: the only way in which the engine starts a thread. If the system cannot create one, it returns an Error (machine), where
// std::thread would throw.
#pragma once

#include <functional>
#include <thread>

#include "graph/base/result.h"

namespace cleave {

/// A running thread, or none. The destructor waits for its end.
class Thread {
 public:
  /// Runs `work`, which must not throw, on a new thread. An Error (machine) if the system cannot create one.
  static Result<Thread> start(std::function<void()> work);

  Thread() = default;
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept {
    join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Thread() { join(); }

  /// Detaches the thread: its end is not waited for.
  void detach() {
    if (thread_.joinable()) thread_.detach();
  }
  /// Waits for the thread's end, if there is one.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace cleave
