// Run: one submitted run, from the queue to its outcome, and the synchronization with callers that wait for it or for one of its outputs.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "executor/api/executable.h"
#include "executor/api/executable_state.h"
#include "graph/base/exceptions.h"
#include "graph/base/forks.h"
#include "graph/base/spelling.h"
#include "graph/states.h"

namespace cleave {

using runtime::Executor;
using runtime::RunQueue;

struct Run::State final : RunQueue::Job {
  const std::shared_ptr<const Graph> graph;
  const std::shared_ptr<RunQueue> queue;
  std::shared_ptr<Executable::State> executable;  ///< until the run is over
  RunOptions options;
  mutable std::mutex mutex;
  mutable std::condition_variable news;               ///< signals an output, or the end
  std::map<std::string, Array, std::less<>> outputs;  ///< received so far
  std::optional<Result<RunResult>> result;            ///< set by work(), until finish() publishes it
  std::optional<Result<RunResult>> outcome;
  bool cancelled = false;
  Executor* executor = nullptr;  ///< while it executes this run
  const std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();
  const BornHere born{};

  State(std::shared_ptr<Executable::State> of, RunOptions with)
      : graph(of->plan.graph), queue(of->executors->queue), executable(std::move(of)), options(std::move(with)) {
    options.on_output = [this, others = std::move(options.on_output)](std::string_view name, const Array& array) {
      tell(name, array);
      if (others) others(name, array);
    };
  }
  ~State() override {
    wait();
    join();
  }

  void submit() {
    if (Status submitted = detail::guard_memory([&] { return queue->submit(*this); }); !submitted) end_early(submitted.error());
  }
  /// The end of a run that never started.
  void end_early(const Error& why) {
    executable->count(why, std::chrono::steady_clock::now() - made);
    options = {};
    executable.reset();
    end(why);
  }
  void work() override {
    const auto waited = std::chrono::steady_clock::now() - made;
    result = detail::guard_memory([this] {
      return executable->run(options, [this](Executor* runs) {
        const std::lock_guard lock(mutex);
        executor = runs;
        return !cancelled;
      });
    });
    executable->count(*result, waited);
    options = {};
    executable.reset();
  }
  void finish() override { end(*std::move(result)); }

  void end(Result<RunResult> with) {
    const std::lock_guard lock(mutex);
    const Status kept = detail::guard_memory([&] {
      if (with)
        for (const auto* list : {&with->outputs, &with->counts})
          for (const auto& [name, array] : *list) outputs.emplace(name, array);
      return Status();
    });
    if (!kept) with = kept.error();
    outcome = std::move(with);
    news.notify_all();
  }
  void cancel() {
    if (queue->withdraw(*this)) return end_early(Error{"cancelled", {}, ErrorKind::user});
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        cancelled = true;  // checked if the run has no executor yet
        if (!executor || executor->cancel()) return;
      }
      // The run is about to take its first step, or has just taken its last.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  void wait() {
    queue->hurry(*this);
    std::unique_lock lock(mutex);
    news.wait(lock, [this] { return outcome.has_value(); });
  }
  [[nodiscard]] Status know(std::string_view name) const {
    std::vector<std::string> names;
    const std::vector<bool> state = state_outputs(*graph);
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (state[i]) continue;
      if (graph->outputs[i].name == name) return {};
      names.push_back(graph->outputs[i].name);
    }
    return Error{"the program has no output `" + std::string(name) + "`" + did_you_mean_or_has(name, names), {}, ErrorKind::usage};
  }
  /// Called under the lock.
  [[nodiscard]] bool has_output(std::string_view name) const { return (outcome && !outcome->ok()) || outputs.find(name) != outputs.end(); }
  /// Called under the lock.
  [[nodiscard]] std::optional<Result<Array>> output(std::string_view name) const {
    if (outcome && !outcome->ok()) return Result<Array>(outcome->error());
    if (const auto found = outputs.find(name); found != outputs.end()) return Result<Array>(found->second);
    return std::nullopt;
  }
  void tell(std::string_view name, const Array& array) {
    const std::lock_guard lock(mutex);
    outputs.emplace(name, array);
    news.notify_all();
  }
};

Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&& other) noexcept {
  leave_to_parent();
  state_ = std::move(other.state_);
  return *this;
}
Run::~Run() {
  leave_to_parent();
}

/// In the child of a fork, no thread ever changes a run of the parent's, and data that the parent's thread was changing must not be
/// accessed.
bool Run::left_to_parent() const {
  return state_ && !state_->born.here();
}
void Run::leave_to_parent() {
  if (left_to_parent()) (void)state_.release();
}

/// The outcome that the child of a fork reports: the run's, if that was known at the fork.
static const Result<RunResult>& outcome_in_child(const std::mutex& of_parent, const std::optional<Result<RunResult>>& outcome) {
  static const Result<RunResult> none =
      Error{"the run belongs to the process that this one was forked from, and was under way then; only that process has its results",
            {},
            ErrorKind::usage};
  const std::unique_lock lock(const_cast<std::mutex&>(of_parent),
                              std::try_to_lock);  // if locked: by a thread that does not exist in this process
  return lock.owns_lock() && outcome ? *outcome : none;
}

/// The outcome of a run that could not be submitted for lack of memory, and of one that was moved from.
static const Result<RunResult>& outcome_of_none() {
  static const Result<RunResult> outcome = detail::out_of_memory();
  return outcome;
}

bool Run::ready() const {
  if (!state_ || left_to_parent()) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->outcome.has_value();
}

bool Run::wait_until(std::chrono::steady_clock::time_point deadline) const {
  if (!state_ || left_to_parent()) return true;
  state_->queue->hurry(*state_);
  std::unique_lock lock(state_->mutex);
  return state_->news.wait_until(lock, deadline, [&] { return state_->outcome.has_value(); });
}

const Result<RunResult>& Run::wait() const {
  if (!state_) return outcome_of_none();
  if (left_to_parent()) return outcome_in_child(state_->mutex, state_->outcome);
  state_->wait();
  return *state_->outcome;
}

void Run::cancel() {
  if (state_ && !left_to_parent()) state_->cancel();
}

Result<Array> Run::output_in_child(std::string_view name) const {
  const Result<RunResult>& outcome = wait();
  if (!outcome) return outcome.error();
  return *outcome->output(name);
}

Result<Array> Run::get(std::string_view name) const {
  if (!state_) return outcome_of_none().error();
  return detail::guard_memory([&]() -> Result<Array> {
    if (Status known = state_->know(name); !known) return known.error();
    if (left_to_parent()) return output_in_child(name);
    state_->queue->hurry(*state_);
    std::unique_lock lock(state_->mutex);
    state_->news.wait(lock, [&] { return state_->has_output(name); });
    return *state_->output(name);
  });
}

std::optional<Result<Array>> Run::get_until(std::string_view name, std::chrono::steady_clock::time_point deadline) const {
  if (!state_) return Result<Array>(outcome_of_none().error());
  return detail::guard_memory_or(
      [&]() -> std::optional<Result<Array>> {
        if (Status known = state_->know(name); !known) return Result<Array>(known.error());
        if (left_to_parent()) return output_in_child(name);
        state_->queue->hurry(*state_);
        std::unique_lock lock(state_->mutex);
        state_->news.wait_until(lock, deadline, [&] { return state_->has_output(name); });
        return state_->output(name);
      },
      [] { return std::optional(Result<Array>(detail::out_of_memory())); });
}

Run Executable::submit_on(Inputs inputs) const {
  RunOptions options;
  options.inputs = std::move(inputs);
  return submit(std::move(options));
}

Run Executable::submit(RunOptions options) const {
  return detail::guard_memory_or(
      [&] {
        auto state = std::make_unique<Run::State>(state_, std::move(options));
        state->submit();
        return Run(std::move(state));
      },
      [] { return Run(nullptr); });
}

}  // namespace cleave
