// SimulatedStreams: three queues, a thread each while a run is under way. Commands of one queue run in order; between queues only waits for
// events order them. When a command that may run does run is the schedule's choice: at once, only when somebody needs it, or at random from
// a seed.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/device/event.h"
#include "executor/device/run_state.h"
#include "executor/device/thread_cache.h"
#include "executor/options.h"
#include "executor/simulated/action.h"

namespace cleave::runtime {

class SimulatedStreams {
 public:
  struct Command {
    Action action;  ///< null: a wait
    Event after;    ///< waits: for what
    Origin origin;
    bool stalls = false;  ///< never ends
  };

  SimulatedStreams(ExecutorOptions::Schedule schedule, std::uint64_t seed);
  SimulatedStreams(const SimulatedStreams&) = delete;
  SimulatedStreams& operator=(const SimulatedStreams&) = delete;
  ~SimulatedStreams();

  /// Takes threads for a run. An Error (machine) where the system gives none.
  Status begin(RunState& run);
  /// Returns when nothing is left to do, and gives the threads back.
  void end();
  void enqueue(Stream stream, const Command& command);
  Event record(Stream stream);
  Status synchronize(Event event);
  [[nodiscard]] bool passed(Event event);
  void abort();

 private:
  struct Queue {
    std::vector<Command> commands;  ///< a ring; the next one is the `completed`th
    std::uint64_t enqueued = 0, completed = 0;
    std::uint64_t demanded = 0;   ///< somebody waits for all up to this
    std::optional<Error> poison;  ///< why everything from `poisoned_from` on failed
    std::uint64_t poisoned_from = 0;
    LentThread thread;  ///< while a run is under way
  };
  static constexpr std::uint64_t kLongest = 1024;  ///< commands in a queue before enqueueing waits

  Queue& queue(Stream stream) { return queues_[static_cast<std::size_t>(stream)]; }
  void demand(Queue& queue, std::uint64_t sequence);
  [[nodiscard]] bool eager(std::size_t stream, std::uint64_t sequence) const;
  bool startable(std::size_t stream);
  void work(std::size_t stream);
  void execute(Queue& queue, Command command, std::unique_lock<std::mutex>& lock);

  const ExecutorOptions::Schedule schedule_;
  const std::uint64_t seed_;
  const std::shared_ptr<ThreadCache> threads_ = ThreadCache::shared();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Queue, kStreamCount> queues_;
  RunState* run_ = nullptr;
  bool aborted_ = false, ending_ = false;
};

}  // namespace cleave::runtime
