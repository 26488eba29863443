// Calls: host functions that workers call beside the host's steps, on threads that are lent for the run. Knows no values: whoever starts a
// call says when it has to be over.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "executor/device/run_state.h"
#include "executor/device/thread_cache.h"

namespace cleave::runtime {

class Calls {
 public:
  /// One at a time of each node; kept from run to run.
  struct Call {
    Origin here;
    std::function<Status(const Call& call)> work;
    // What has come of it, once it is over.
    Status status;
    RunState::Clock::time_point begun, ended;

   private:
    friend class Calls;
    bool over_ = false;
  };

  /// At most so many at once, on as many threads; what is more waits for its turn. Less than two: none.
  explicit Calls(int workers) : workers_(workers < 2 ? 0 : static_cast<std::size_t>(workers)) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() { end(); }

  /// Before each run.
  void begin(RunState& run);
  /// On a thread of its own as soon as one is free, or right here where the system gives none. An error that it has is the run's at once.
  void start(Call& call);
  /// Takes one that was done otherwise for over.
  static void skip(Call& call) { call.over_ = true; }
  /// Until it is over.
  void wait(const Call& call);
  /// All that is under way is over, and the threads are given back.
  void end();

 private:
  void work();
  void run(Call& call);

  const std::size_t workers_;
  RunState* run_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call*> waiting_;  ///< for a thread
  std::size_t idle_ = 0;       ///< threads without a call
  bool leaving_ = false;
  std::vector<LentThread> threads_;
};

}  // namespace cleave::runtime
