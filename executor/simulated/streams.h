// SimulatedStreams: three command queues, each with a thread while a run is under way. Commands of one queue run in order; commands of
// different queues are ordered only by waits for events. The schedule decides when a ready command runs: at once, only when a wait needs
// it, or at random from a seed.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/device/run_state.h"
#include "executor/device/streams.h"
#include "executor/device/thread_cache.h"
#include "executor/options.h"
#include "executor/simulated/action.h"

namespace cleave::runtime {

class SimulatedStreams final : public Streams {
 public:
  struct Command {
    Action action;  ///< null: a wait
    Event after;    ///< waits: the event to wait for
    Origin origin;
    bool stalls = false;  ///< the command never ends
  };

  SimulatedStreams(ExecutorOptions::Schedule schedule, std::uint64_t seed);
  SimulatedStreams(const SimulatedStreams&) = delete;
  SimulatedStreams& operator=(const SimulatedStreams&) = delete;
  ~SimulatedStreams() override;

  /// Borrows threads for a run. An Error (machine) if the system cannot create them.
  Status begin(RunState& run);
  /// Waits until all queues are empty, and returns the threads.
  void end();
  void enqueue(Stream stream, const Command& command);
  Event record(Stream stream) override;
  Event record_awaited(Stream stream) override { return record(stream); }
  Status wait(Stream stream, Event event) override;
  Status synchronize(Event event) override;
  [[nodiscard]] bool passed(Event event) override;
  void abort();

 private:
  struct Queue {
    std::vector<Command> commands;  ///< a ring; the next command is number `completed`
    std::uint64_t enqueued = 0, completed = 0;
    std::uint64_t demanded = 0;   ///< a wait needs all commands up to this one
    std::optional<Error> poison;  ///< the error with which all commands from `poisoned_from` on fail
    std::uint64_t poisoned_from = 0;
    LentThread thread;  ///< borrowed while a run is under way
  };
  static constexpr std::uint64_t kLongest = 1024;  ///< number of commands in a queue above which enqueueing waits

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
