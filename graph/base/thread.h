// Thread: the one way to start a thread. Where the system gives none, that is an Error like any other shortage of the machine; the threads
// of the standard library would throw.
#pragma once

#include <functional>
#include <thread>

#include "graph/base/result.h"

namespace cleave {

/// A thread under way, or none. Its end is waited for by whoever destroys it.
class Thread {
 public:
  /// Does `work`, which must not throw, on a thread of its own. An Error (machine) where the system gives none.
  static Result<Thread> start(std::function<void()> work);

  Thread() = default;
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&& other) noexcept {
    join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~Thread() { join(); }

  /// Lets it go: nobody waits for its end any more.
  void detach() {
    if (thread_.joinable()) thread_.detach();
  }
  /// Waits for its end, if there is one to wait for.
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace cleave
