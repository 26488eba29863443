#include "executor/simulated/streams.h"

#include "graph/base/exceptions.h"

namespace cleave::runtime {
namespace {

/// SplitMix64's finalizer: a random bit for each command that depends only on the command's number.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

SimulatedStreams::SimulatedStreams(ExecutorOptions::Schedule schedule, std::uint64_t seed) : schedule_(schedule), seed_(seed) {
  for (Queue& queue : queues_) queue.commands.resize(kLongest);
}

SimulatedStreams::~SimulatedStreams() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

Status SimulatedStreams::begin(RunState& run) {
  std::array<LentThread, kStreamCount> threads;
  for (LentThread& thread : threads) {
    Result<LentThread> lent = ThreadCache::lend(threads_);
    if (!lent) return lent.error();
    thread = *std::move(lent);
  }
  {
    const std::lock_guard lock(mutex_);
    run_ = &run;
    aborted_ = ending_ = false;
    for (Queue& queue : queues_) queue.poison.reset();
  }
  for (std::size_t s = 0; s < kStreamCount; ++s) {
    queues_[s].thread = std::move(threads[s]);
    queues_[s].thread->start([this, s] { work(s); });
  }
  return {};
}

void SimulatedStreams::end() {
  {
    std::unique_lock lock(mutex_);
    for (Queue& queue : queues_) demand(queue, queue.enqueued);
    changed_.wait(lock, [&] {
      for (const Queue& queue : queues_) {
        if (queue.completed < queue.enqueued) return false;
      }
      return true;
    });
    run_ = nullptr;
    ending_ = true;
  }
  changed_.notify_all();
  for (Queue& queue : queues_) queue.thread = {};
}

void SimulatedStreams::enqueue(Stream stream, const Command& command) {
  std::unique_lock lock(mutex_);
  Queue& q = queue(stream);
  while (q.enqueued - q.completed >= kLongest) {  // an aborted run drains its queue at once
    demand(q, q.completed + kLongest / 2);
    changed_.wait(lock);
  }
  q.commands[q.enqueued++ % kLongest] = command;
  lock.unlock();
  changed_.notify_all();
}

Status SimulatedStreams::wait(Stream stream, Event event) {
  if (event.sequence == 0 || event.stream == stream) return {};
  Command command;
  command.after = event;
  enqueue(stream, command);
  return {};
}

Event SimulatedStreams::record(Stream stream) {
  std::lock_guard lock(mutex_);
  return {stream, queue(stream).enqueued};
}

Status SimulatedStreams::synchronize(Event event) {
  std::unique_lock lock(mutex_);
  Queue& q = queue(event.stream);
  demand(q, event.sequence);
  changed_.wait(lock, [&] { return aborted_ || q.completed >= event.sequence; });
  if (q.poison && q.poisoned_from <= event.sequence) return *q.poison;
  if (aborted_) return Error{"the run was given up", {}, ErrorKind::machine};
  return {};
}

bool SimulatedStreams::passed(Event event) {
  const std::lock_guard lock(mutex_);
  return queue(event.stream).completed >= event.sequence;
}

void SimulatedStreams::abort() {
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  changed_.notify_all();
}

void SimulatedStreams::demand(Queue& queue, std::uint64_t sequence) {
  if (queue.demanded >= sequence) return;
  queue.demanded = sequence;
  changed_.notify_all();
}

bool SimulatedStreams::eager(std::size_t stream, std::uint64_t sequence) const {
  switch (schedule_) {
    case ExecutorOptions::Schedule::eager: return true;
    case ExecutorOptions::Schedule::latest: return false;
    case ExecutorOptions::Schedule::random: break;
  }
  return mixed(seed_ ^ mixed(sequence * kStreamCount + stream)) % 2 == 0;
}

bool SimulatedStreams::startable(std::size_t stream) {
  Queue& q = queues_[stream];
  if (q.completed == q.enqueued) return false;
  if (aborted_) return true;
  std::uint64_t sequence = q.completed + 1;
  if (!eager(stream, sequence) && q.demanded < sequence) return false;
  const Command& head = q.commands[q.completed % kLongest];
  if (head.action || head.stalls) return true;
  Queue& other = queue(head.after.stream);
  demand(other, head.after.sequence);
  return other.completed >= head.after.sequence;
}

void SimulatedStreams::work(std::size_t stream) {
  std::unique_lock lock(mutex_);
  Queue& q = queues_[stream];
  while (true) {
    changed_.wait(lock, [&] { return ending_ || startable(stream); });
    if (ending_) return;
    const Status executed = detail::guard_memory([&] {
      if (!aborted_) execute(q, q.commands[q.completed % kLongest], lock);
      return Status();
    });
    if (!executed) {
      if (!lock.owns_lock()) lock.lock();
      q.poison = executed.error();
      q.poisoned_from = q.completed + 1;
    }
    ++q.completed;
    if (run_) run_->progress();
    changed_.notify_all();
  }
}

void SimulatedStreams::execute(Queue& q, Command command, std::unique_lock<std::mutex>& lock) {
  std::uint64_t sequence = q.completed + 1;
  if (q.poison) return;
  if (command.stalls) {
    changed_.wait(lock, [&] { return aborted_ || ending_; });
    return;
  }
  if (!command.action) {
    const Queue& other = queue(command.after.stream);
    if (!other.poison || other.poisoned_from > command.after.sequence) return;
    q.poison = other.poison;
    q.poisoned_from = sequence;
    return;
  }
  RunState& run = *run_;
  lock.unlock();
  Status status;
  {
    const RunState::Executing executing(run, command.origin.position);
    status = detail::guard_memory(command.action);
  }
  if (!status) run.fail(command.origin, status.error());
  lock.lock();
  if (status) return;
  q.poison = status.error();
  q.poisoned_from = sequence;
}

}  // namespace cleave::runtime
