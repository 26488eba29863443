// Executor: the implementation: one run after another, each watched by the process's watchdog; the states between them, and the errors of
// each. The sides of the program (sides.h) do the work.
#include "executor/run/executor.h"

#include <algorithm>
#include <mutex>

#include "executor/device/thread_cache.h"
#include "executor/run/prepare/prepared.h"
#include "executor/run/run_states.h"
#include "executor/run/sides.h"
#include "executor/run/watchdog.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/base/units.h"

namespace cleave::runtime {
namespace {

class AsynchronousExecutor final : public Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const Program> program, const StepCosts& costs,
                                                  const ExecutorSetup& setup) {
    Result<std::unique_ptr<Prepared>> prepared = prepare(std::move(program), costs, setup);
    if (!prepared) return prepared.error();
    Result<std::unique_ptr<Sides>> sides = Sides::create(*std::move(prepared), setup.back_end.simulates);
    if (!sides) return sides.error();
    auto executor = std::make_unique<AsynchronousExecutor>(*std::move(sides), setup);
    if (Status status = executor->open(); !status) return status.error();
    return std::unique_ptr<Executor>(std::move(executor));
  }

  AsynchronousExecutor(std::unique_ptr<Sides> sides, const ExecutorSetup& setup)
      : sides_(std::move(sides)),
        graph_(sides_->prepared().graph()),
        kept_(setup.kept_leaves ? setup.kept_leaves : std::make_shared<KeptLeaves>()),
        states_(*sides_->prepared().program),
        watchdog_seconds_(setup.watchdog_seconds),
        calls_user_(std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& node) { return node.host_function(); })) {}

  Result<RunResult> run(const RunOptions& options) override {
    const StandardFloats standard;
    const std::optional<KeptFolder> folder = calls_user_ ? std::optional<KeptFolder>(std::in_place) : std::nullopt;
    const int refused = threads_->refused();
    Result<RunResult> result = attempt(options);
    if (!result && has_begun_ && sides_->logged_nan()) return find_nan(options, result.error());
    if (result || has_begun_ || threads_->refused() == refused) return result;
    const std::lock_guard lock(threads_->second_try());
    return attempt(options);
  }

  bool end(const Error& why) override {
    const std::lock_guard lock(current_mutex_);
    if (!current_) return false;
    end(*current_, why);
    return true;
  }
  [[nodiscard]] std::optional<NodeId> computing() const override {
    const std::lock_guard lock(current_mutex_);
    return current_ ? current_->computing() : std::nullopt;
  }

  SavedPosition mark_log() override { return sides_->mark_log(); }
  [[nodiscard]] bool lost() const override {
    const auto& devices = sides_->prepared().devices;
    return std::any_of(devices.begin(), devices.end(), [](const auto& device) { return device && device->lost(); });
  }
  [[nodiscard]] std::int64_t planned_peak(DeviceId device) const override { return sides_->prepared().plans[device].arena_bytes; }
  /// The host's arena is one allocation, so its planned peak is its measured one.
  [[nodiscard]] std::int64_t measured_peak(DeviceId id) const override {
    const std::unique_ptr<Device>& device = sides_->prepared().devices[id];
    return device ? device->measured_peak() : planned_peak(id);
  }
  Result<Array> state(std::string_view name) override {
    Result<Array> value = detail::guard_memory([&]() -> Result<Array> {
      if (Status lent = sides_->borrow_threads({}); !lent) return lent.error();
      return states_.get(name, [this](ValueId wanted) { return sides_->read(wanted); });
    });
    sides_->give_threads_back();
    return value;
  }
  void reset_states() override { states_.forget(); }

 private:
  Status open() {
    if (!sides_->several()) return {};
    Result<std::unique_ptr<Watch>> watch = Watch::create(watchdog_seconds_);
    if (!watch) return watch.error();
    watch_ = *std::move(watch);
    return {};
  }
  Result<RunResult> attempt(const RunOptions& options) {
    has_begun_ = false;
    Result<RunResult> result = detail::guard_memory([&] { return run_once(options); });
    sides_->give_threads_back();
    sides_->let_go();
    return result;
  }
  /// Runs a second time on the same values, to find out where the NaN came from that was logged.
  Error find_nan(const RunOptions& options, const Error& logged) {
    const StepCollector::LoggedNan nan = *sides_->logged_nan();
    NanSearch search(graph_, nan.label);
    RunOptions again;
    again.inputs = options.inputs;
    again.results = options.results;
    again.print = [](std::string_view) {};
    again.verify = again.stop_on_nan = true;
    again.progress = options.progress;
    again.first_step = options.first_step;
    again.position = options.position;
    again.stop = options.stop;
    sides_->prepared().nan_search = &search;
    const Result<RunResult> result = attempt(again);
    sides_->prepared().nan_search = nullptr;
    if (const bool again_nan = !result && has_begun_ && sides_->logged_nan(); !again_nan) return result ? logged : result.error();
    return search.found(nan.text).value_or(logged);
  }
  Result<RunResult> run_once(const RunOptions& options) {
    auto start = RunState::Clock::now();
    if (Status lent = sides_->borrow_threads(options); !lent) return lent.error();
    if (Status states = states_.begin(options, [this](ValueId value) { return sides_->read(value); }); !states) return states.error();
    Result<std::map<NodeId, Array>> leaves = bind_leaves(graph_, options, kept_.get(), &states_.going_on());
    if (!leaves) return leaves.error();
    states_.add_to(*leaves);
    if (Status status = check_results(graph_, options, *leaves); !status) return status.error();
    // Not on the stack: if a host function leaves by longjmp, the watchdog and the drivers may still use it.
    const auto shared = std::make_unique<RunState>([this](NodeId node, Error error) { return at_node(graph_, node, std::move(error)); });
    RunState& run = *shared;
    if (Status status = sides_->begin(run, options, *leaves, states_.resident()); !status) {
      states_.give_up();
      return status.error();
    }
    Result<RunResult> result = detail::guard_memory([&] { return work_and_collect(run, options); });
    if (states_.any()) finish_states(result);
    if (result) result->seconds = std::chrono::duration<double>(RunState::Clock::now() - start).count();
    return result;
  }
  Result<RunResult> work_and_collect(RunState& run, const RunOptions& options) {
    has_begun_ = true;
    set_current(&run);
    if (watch_) watch_->begin(run, [this, &run] { give_up(run); });
    sides_->walk(run, options.progress);
    if (watch_) watch_->end();
    set_current(nullptr);
    const Status told = sides_->tell_rest();
    if (std::optional<Error> error = run.error()) return *std::move(error);
    if (!told) return told.error();
    return sides_->collect(options);
  }
  /// Takes over the new values if the run went well; else all states stay as they were.
  void finish_states(Result<RunResult>& result) {
    Status finished = sides_->take_over_states(result.ok());
    if (finished && result) {
      finished = detail::guard_memory([&] {
        states_.take_over([this](ValueId value) { return sides_->output(value); });
        return Status();
      });
      if (finished) return;
    }
    states_.give_up();
    if (finished) return;
    states_.forget();  // only some of them were taken over
    if (result) result = finished.error();
  }

  void give_up(RunState& run) const {
    end(run, detail::guard_memory_or([&] { return standstill(run); }, [] { return detail::out_of_memory(); }));
  }
  [[nodiscard]] Error standstill(const RunState& run) const {
    Error error;
    error.kind = ErrorKind::machine;
    error.message = "nothing has run for " + format_seconds(watchdog_seconds_) + ", and the run was ended";
    for (const auto& [device, node] : run.waiting()) {
      if (!node.valid()) continue;
      if (!error.location.known()) error.location = graph_.nodes[node].location;
      error.message += "; " + to_string(device) + " waits for `" + graph_.display_name(node) + "`";
    }
    return error;
  }
  void end(RunState& run, const Error& error) const {
    run.end(error);
    sides_->abort();
  }
  void set_current(RunState* run) {
    const std::lock_guard lock(current_mutex_);
    current_ = run;
  }

  const std::unique_ptr<Sides> sides_;
  const Graph& graph_;
  const std::shared_ptr<KeptLeaves> kept_;
  RunStates states_;
  const double watchdog_seconds_;
  const bool calls_user_;
  mutable std::mutex current_mutex_;
  RunState* current_ = nullptr;   ///< of the run that is executing steps
  std::unique_ptr<Watch> watch_;  ///< null: there is no accelerator to wait for
  const std::shared_ptr<ThreadCache> threads_ = ThreadCache::shared();
  bool has_begun_ = false;  ///< the current or last run had all its threads
};

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const Program> program, const StepCosts& costs,
                                                   const ExecutorSetup& setup) {
  const StandardFloats standard;
  return detail::guard_memory([&] { return AsynchronousExecutor::create(std::move(program), costs, setup); });
}

}  // namespace cleave::runtime
