// Calls: runs work on borrowed worker threads, concurrently with the host's steps: calls of host functions (host_calls.h) and data of loops
// that are made ahead (producers.h). Knows no values: the caller that starts a call decides when it must be over.
#pragma once

#include <algorithm>
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
  /// A call of a node, of which at most one is pending; kept from run to run.
  struct Call {
    Origin here;
    std::function<Status(const Call& call)> work;
    // The result of the call, once it is over.
    Status status;
    RunState::Clock::time_point begun, ended;

   private:
    friend class Calls;
    bool over_ = false;
  };

  /// Runs at most `workers` calls at once, on as many threads; further calls wait for a free thread.
  explicit Calls(int workers) : workers_(static_cast<std::size_t>(std::max(1, workers))) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() { end(); }

  /// Must be called before each run.
  void begin(RunState& run);
  /// Starts a call on a worker thread as soon as one is free, or on the caller's thread if the system creates none. An error of the call is
  /// reported to the run at once.
  void start(Call& call);
  /// Marks a call as over that was completed in another way.
  static void skip(Call& call) { call.over_ = true; }
  /// Waits until the call is over.
  void wait(const Call& call);
  /// The same, but a call that no thread has taken yet is not made.
  void wait_or_drop(Call& call);
  /// Waits until all pending calls are over, and returns the threads.
  void end();

 private:
  void work();
  void run(Call& call);

  const std::size_t workers_;
  RunState* run_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call*> waiting_;  ///< until a thread is free
  std::size_t idle_ = 0;       ///< number of threads without a call
  bool leaving_ = false;
  std::vector<LentThread> threads_;
};

}  // namespace cleave::runtime
