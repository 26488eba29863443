// Executor: the implementation: the host's program runs on the caller's thread, with a driver thread for each accelerator, one more for
// outputs that are wanted early, and the process's watchdog. Threads are borrowed for one run (executor/device/thread_cache.h).
#include "executor/run/executor.h"

#include <algorithm>
#include <mutex>

#include "executor/device/thread_cache.h"
#include "executor/run/driver/device_driver.h"
#include "executor/run/driver/host_driver.h"
#include "executor/run/driver/outputs.h"
#include "executor/run/early_outputs.h"
#include "executor/run/prepare/prepared.h"
#include "executor/run/run_states.h"
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
    const SlotUses slots = find_slot_uses(**prepared);
    HostOperations operations = prepare_host_operations(**prepared, slots);
    Result<Transports> transports = open_transports(**prepared, slots, operations);
    if (!transports) return transports.error();
    auto executor = std::make_unique<AsynchronousExecutor>(*std::move(prepared), *std::move(transports), setup);
    if (Status status = executor->open(std::move(operations)); !status) return status.error();
    return std::unique_ptr<Executor>(std::move(executor));
  }

  AsynchronousExecutor(std::unique_ptr<Prepared> prepared, Transports transports, const ExecutorSetup& setup)
      : prepared_(std::move(prepared)),
        transports_(std::move(transports)),
        kept_(setup.kept_leaves ? setup.kept_leaves : std::make_shared<KeptLeaves>()),
        outputs_(prepared_->graph()),
        early_outputs_(*prepared_, transports_, outputs_),
        states_(*prepared_->program),
        watchdog_seconds_(setup.watchdog_seconds),
        simulated_(setup.back_end.simulates),
        calls_user_(std::any_of(graph().nodes.begin(), graph().nodes.end(), [](const Node& node) { return node.host_function(); })) {}

  Status open(HostOperations operations) {
    Result<std::unique_ptr<HostDriver>> host = HostDriver::create(*prepared_, std::move(operations), transports_, outputs_);
    if (!host) return host.error();
    host_ = std::move(*host);
    for (std::size_t d = 1; d < prepared_->devices.size(); ++d) {
      if (!prepared_->devices[DeviceId(d)]) continue;
      Result<std::unique_ptr<DeviceDriver>> side = DeviceDriver::create(*prepared_, transports_, DeviceId(d));
      if (!side) return side.error();
      drivers_.push_back(std::move(*side));
    }
    driver_threads_.resize(drivers_.size());
    if (drivers_.empty()) return {};
    Result<std::unique_ptr<Watch>> watch = Watch::create(watchdog_seconds_);
    if (!watch) return watch.error();
    watch_ = *std::move(watch);
    std::size_t threads = drivers_.size();
    if (simulated_) threads += drivers_.size() * kStreamCount;
    return ThreadCache::warm(threads_, threads);
  }

  Result<RunResult> run(const RunOptions& options) override {
    const StandardFloats standard;
    const std::optional<KeptFolder> folder = calls_user_ ? std::optional<KeptFolder>(std::in_place) : std::nullopt;
    const int refused = threads_->refused();
    Result<RunResult> result = attempt(options);
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

  [[nodiscard]] bool lost() const override {
    return std::any_of(prepared_->devices.begin(), prepared_->devices.end(), [](const auto& device) { return device && device->lost(); });
  }
  [[nodiscard]] std::int64_t planned_peak(DeviceId device) const override { return prepared_->plans[device].arena_bytes; }
  /// The host's arena is one allocation, so its planned peak is its measured one.
  [[nodiscard]] std::int64_t measured_peak(DeviceId device) const override {
    return prepared_->devices[device] ? prepared_->devices[device]->measured_peak() : planned_peak(device);
  }
  Result<Array> state(std::string_view name) override {
    Result<Array> value = detail::guard_memory([&]() -> Result<Array> {
      if (Status lent = take_threads(false); !lent) return lent.error();
      return states_.get(name, [this](ValueId wanted) { return read(wanted); });
    });
    give_threads_back();
    return value;
  }
  void reset_states() override { states_.forget(); }

 private:
  [[nodiscard]] const Graph& graph() const { return prepared_->graph(); }
  Result<RunResult> attempt(const RunOptions& options) {
    has_begun_ = false;
    Result<RunResult> result = detail::guard_memory([&] { return run_once(options); });
    give_threads_back();
    outputs_.begin(nullptr);  // releases this run's arrays
    let_go();
    return result;
  }
  /// Borrows one thread for each driver, and one for outputs that are wanted early.
  Status take_threads(bool early) {
    const auto take = [this](LentThread& thread) -> Status {
      Result<LentThread> lent = ThreadCache::lend(threads_);
      if (!lent) return lent.error();
      thread = *std::move(lent);
      return {};
    };
    for (LentThread& thread : driver_threads_)
      if (Status taken = take(thread); !taken) return taken;
    return early ? take(early_thread_) : Status();
  }
  void give_threads_back() {
    for (LentThread& thread : driver_threads_) thread = {};
    early_thread_ = {};
  }
  Result<RunResult> run_once(const RunOptions& options) {
    auto start = RunState::Clock::now();
    if (Status lent = take_threads(options.on_output && early_outputs_.needed()); !lent) return lent.error();
    if (Status states = states_.begin(options, [this](ValueId value) { return read(value); }); !states) return states.error();
    Result<std::map<NodeId, Array>> leaves = bind_leaves(graph(), options, kept_.get(), &states_.going_on());
    if (!leaves) return leaves.error();
    states_.add_to(*leaves);
    if (Status status = check_results(graph(), options, *leaves); !status) return status.error();
    prepared_->caller_memory.begin(graph(), options, *leaves, simulated_);
    // Not on the stack: if a host function leaves by longjmp, the watchdog and the drivers may still use it.
    const auto shared = std::make_unique<RunState>([this](NodeId node, Error error) { return at_node(graph(), node, std::move(error)); });
    RunState& run = *shared;
    if (Status status = begin(run, options, *leaves); !status) {
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
    work(run, options.progress);
    set_current(nullptr);
    const Status told = tell_rest();
    if (std::optional<Error> error = run.error()) return *std::move(error);
    if (!told) return told.error();
    return collect(options);
  }
  /// Takes over the new values if the run went well; else all states stay as they were.
  void finish_states(Result<RunResult>& result) {
    Status finished;
    for (std::size_t i = 0; i < drivers_.size(); ++i) {
      if (!drivers_[i]->contents().keeps_states()) continue;
      on_driver(i, [&](DeviceDriver& driver) {
        if (const Status status = driver.contents().take_over_states(result.ok()); !status) finished = status;
      });
    }
    if (finished && result) {
      finished = detail::guard_memory([&] {
        states_.take_over([this](ValueId value) { return host_->arrays().output(value); });
        return Status();
      });
      if (finished) return;
    }
    states_.give_up();
    if (finished) return;
    states_.forget();  // only some of them were taken over
    if (result) result = finished.error();
  }
  /// Calls `call` on the driver thread of the device, and waits.
  template <class F>
  void on_driver(std::size_t i, F&& call) {
    const auto job = [this, i, &call] { call(*drivers_[i]); };
    driver_threads_[i]->start([&job] { job(); });
    driver_threads_[i]->wait();
  }
  /// Reads the value of a state on an accelerator.
  Result<Array> read(ValueId value) {
    Result<Array> array = Error{"the state lies on no accelerator"};
    for (std::size_t i = 0; i < drivers_.size(); ++i)
      if (drivers_[i]->contents().keeps_states())
        on_driver(i, [&](DeviceDriver& driver) { array = detail::guard_memory([&] { return driver.contents().read(value); }); });
    return array;
  }
  /// Reports the remaining events of the tracks; the first error of doing so.
  Status tell_rest() {
    host_->clock().track().tell_rest();
    Status told = host_->clock().track().told();
    for (const std::unique_ptr<DeviceDriver>& driver : drivers_) {
      driver->queue().track().tell_rest();
      if (told) told = driver->queue().track().told();
    }
    return told;
  }
  /// Releases the run's arrays, so that their owners can write to them without a copy.
  void let_go() {
    host_->arrays().end();
    prepared_->caller_memory.end();
  }
  Status begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves) {
    for (const std::unique_ptr<Transport>& transport : transports_.of)
      if (transport) transport->begin(options, prepared_->caller_memory);
    for (ControlStream& control : prepared_->controls) control.reset();
    std::size_t begun = 0;
    Status status = detail::guard_memory([&]() -> Status {
      for (; begun < drivers_.size(); ++begun)
        if (Status driver = drivers_[begun]->begin(run, options, leaves, states_.resident()); !driver) return driver;
      if (Status host = host_->begin(run, options, leaves, simulated_); !host) return host;
      outputs_.begin(options.on_output);
      return {};
    });
    for (std::size_t i = 0; !status && i < begun; ++i) drivers_[i]->queue().device().end_run();
    return status;
  }

  /// Walks all programs to their ends, or to an error.
  void work(RunState& run, RunProgress* progress) {
    const bool carries = outputs_.listening() && early_outputs_.needed();
    if (watch_) watch_->begin(run, [this, &run] { give_up(run); });
    for (std::size_t i = 0; i < drivers_.size(); ++i)
      driver_threads_[i]->start([driver = drivers_[i].get(), from = host_->clock().start()] { driver->drive(from); });
    if (carries) early_thread_->start([this, &run] { early_outputs_.work(run); });
    walk(*prepared_->program, kHost, prepared_->plans[kHost], run, *host_, progress);
    host_->calls().end();
    if (run.failed()) release();
    for (const LentThread& thread : driver_threads_) thread->wait();
    if (carries) early_thread_->wait();
    if (watch_) watch_->end();
  }

  /// Ends the devices' waits for values that the host will not send any more; results computed without those values are not used.
  void release() const {
    for (const std::unique_ptr<Transport>& transport : transports_.of)
      if (transport) transport->release();
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
      if (!error.location.known()) error.location = graph().nodes[node].location;
      error.message += "; " + to_string(device) + " waits for `" + graph().display_name(node) + "`";
    }
    return error;
  }

  void end(RunState& run, const Error& error) const {
    run.end(error);
    for (const auto& device : prepared_->devices) {
      if (device) device->abort();
    }
    release();
  }

  void set_current(RunState* run) {
    const std::lock_guard lock(current_mutex_);
    current_ = run;
  }

  [[nodiscard]] Result<RunResult> collect(const RunOptions& options) const {
    RunResult result;
    const std::vector<bool> state = state_outputs(graph());
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (state[i]) continue;
      const Output& output = graph().outputs[i];
      const std::optional<Array>& early = outputs_.array(output.value);
      const auto copied = [&]() -> Result<Array> {
        return deliver(options, output.name, early ? *early : host_->arrays().output(output.value));
      };
      Result<Array> array = detail::guard_memory(copied);
      if (!array) return at_node(graph(), graph().values[output.value].producer, array.error());
      result.outputs.emplace_back(output.name, *std::move(array));
    }
    for (std::size_t c = 0; c < transports_.of.size(); ++c) {
      if (!transports_.of[ChannelId(c)]) continue;
      const TransferCount& moved = transports_.of[ChannelId(c)]->moved();
      TransferCount& sum = prepared_->channel(ChannelId(c)).to == kHost ? result.accelerator_to_host : result.host_to_accelerator;
      sum.count += moved.count;
      sum.bytes += moved.bytes;
    }
    double end = host_->clock().now();
    result.timeline.events = std::move(host_->clock().track().events());
    for (const std::unique_ptr<DeviceDriver>& driver : drivers_) {
      end = std::max(end, driver->queue().clock().now());
      const std::vector<TimelineEvent>& events = driver->queue().track().events();
      result.timeline.events.insert(result.timeline.events.end(), events.begin(), events.end());
    }
    std::stable_sort(result.timeline.events.begin(), result.timeline.events.end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) { return a.start_seconds < b.start_seconds; });
    result.timeline.simulated = simulated_;
    result.simulated_seconds = simulated_ ? end : 0;
    if (options.observe) {
      Observation observation = host_->observation();
      for (const std::unique_ptr<DeviceDriver>& driver : drivers_) observation.add_controls(driver->observation());
      observation.transfers(result.timeline.events);
      result.observed = observation.profile(graph());
    }
    return result;
  }

  std::unique_ptr<Prepared> prepared_;
  Transports transports_;
  const std::shared_ptr<KeptLeaves> kept_;
  Outputs outputs_;
  EarlyOutputs early_outputs_;
  RunStates states_;
  const double watchdog_seconds_;
  const bool simulated_;  ///< times are those of the virtual clock, also if the program leaves the simulated accelerator idle
  const bool calls_user_;
  std::unique_ptr<HostDriver> host_;
  std::vector<std::unique_ptr<DeviceDriver>> drivers_;
  mutable std::mutex current_mutex_;
  RunState* current_ = nullptr;   ///< of the run that is executing steps
  std::unique_ptr<Watch> watch_;  ///< null: there is no accelerator to wait for
  const std::shared_ptr<ThreadCache> threads_ = ThreadCache::shared();
  std::vector<LentThread> driver_threads_;  ///< while a run is under way, one for each driver
  bool has_begun_ = false;                  ///< the current or last run had all its threads
  LentThread early_thread_;                 ///< during a run whose outputs are reported early
};

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const Program> program, const StepCosts& costs,
                                                   const ExecutorSetup& setup) {
  const StandardFloats standard;
  return detail::guard_memory([&] { return AsynchronousExecutor::create(std::move(program), costs, setup); });
}

}  // namespace cleave::runtime
