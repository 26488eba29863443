// RunQueue: submitted runs, in the order of submission. At most `at_once` of them are under way at a time, each on a thread; the others
// wait for their turn. When somebody waits for a run whose turn has not come, it gets a thread at once, beyond the limit: runs that wait
// for each other cannot block each other. Knows nothing of what a run does.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "graph/base/thread.h"

namespace cleave::runtime {

class RunQueue : public std::enable_shared_from_this<RunQueue> {
 public:
  class Job {
   public:
    virtual ~Job() = default;
    virtual void work() = 0;
    /// After work(): says that it is done. The queue does not touch the job any more.
    virtual void finish() = 0;
    /// Once it has said so: waits for its thread, unless that has gone on to another job.
    void join() { thread_.join(); }

   private:
    friend class RunQueue;
    // Guarded by the queue's lock until the job is finished.
    Thread thread_;
    bool waits_ = false;
  };

  class Turn;

  /// `in_order`: nobody's turn comes early.
  explicit RunQueue(std::size_t at_once, bool in_order = false) : at_once_(at_once), in_order_(in_order) {}
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  /// Starts the job, or lets it wait. An Error (machine) where no thread can be had and none is under way that could take it later.
  Status submit(Job& job);
  /// Gives a job that waits a thread now, if there is one to be had.
  void hurry(Job& job);
  /// Takes back a job that waits. False: it is under way, or over.
  bool withdraw(Job& job);

 private:
  /// Whether nothing is under way, and the caller is from now on, until leave(). Else the job waits.
  bool enter(Job& job);
  void leave();
  Status start(Job& job);
  bool remove(Job& job);
  void drive(Job* job);

  const std::size_t at_once_;
  const bool in_order_;
  std::mutex mutex_;
  std::deque<Job*> waiting_;  ///< only while a thread is under way that will come back for them
  std::size_t threads_ = 0;   ///< that are under way with a job, or are in the queue by enter()
};

/// While it lives, the caller's own thread is what is under way in a queue of one at a time: what was submitted before is over, and what is
/// submitted later waits.
class RunQueue::Turn final : Job {
 public:
  explicit Turn(std::shared_ptr<RunQueue> queue);
  ~Turn() override;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  enum class Phase { waits, has_turn, gives_up, over };

  void work() override;
  void finish() override;
  void say(Phase phase);
  void wait_until(Phase phase);

  const std::shared_ptr<RunQueue> queue_;
  std::mutex mutex_;
  std::condition_variable news_;
  Phase phase_ = Phase::waits;
  const bool here_;  ///< there is no thread that keeps its place
};

}  // namespace cleave::runtime
