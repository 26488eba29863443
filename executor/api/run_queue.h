// RunQueue: submitted runs, in the order of submission. At most `at_once` of them are under way at a time, each on a thread; the others
// wait in the queue. When a caller waits for a queued run, that run gets a thread at once, beyond the limit, so runs that wait for each
// other cannot block each other; but not in a queue that keeps the order. The queue does not know what a run does.
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
    /// Called after work(): reports that the job is done. After it the queue does not access the job.
    virtual void finish() = 0;
    /// Must be called after the job has reported its end: waits for its thread, unless the thread has gone on to another job.
    void join() { thread_.join(); }

   private:
    friend class RunQueue;
    // Guarded by the queue's lock until the job is finished.
    Thread thread_;
    bool waits_ = false;
  };

  class Turn;

  /// `in_order`: no job starts before an earlier one has ended.
  explicit RunQueue(std::size_t at_once, bool in_order = false) : at_once_(at_once), in_order_(in_order) {}
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  /// Starts the job, or queues it. An Error (machine) if the system creates no thread and no thread is under way that could take the job
  /// later.
  Status submit(Job& job);
  /// Gives a queued job a thread at once, if the system creates one. Does nothing if the queue runs jobs `in_order`.
  void hurry(Job& job);
  /// Removes a queued job. False: it is under way, or over.
  bool withdraw(Job& job);

 private:
  /// If nothing is under way, the caller occupies the queue until leave() and the result is true. Else the job is queued.
  bool enter(Job& job);
  void leave();
  Status start(Job& job);
  bool remove(Job& job);
  void drive(Job* job);

  const std::size_t at_once_;
  const bool in_order_;
  std::mutex mutex_;
  std::deque<Job*> waiting_;  ///< only while a thread is under way that takes them later
  std::size_t threads_ = 0;   ///< threads with a job, and callers between enter() and leave()
};

/// While this object lives, the caller's own thread occupies a queue with one run at a time: jobs submitted before are over, and jobs
/// submitted later wait.
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
  const bool here_;  ///< the caller has entered the queue; else a thread of the queue holds its turn
};

}  // namespace cleave::runtime
