#include "executor/run/sides.h"

#include <algorithm>
#include <utility>

#include "executor/arguments/caller_memory.h"
#include "graph/base/exceptions.h"
#include "graph/lengths.h"

namespace cleave::runtime {

Result<std::unique_ptr<Sides>> Sides::create(std::unique_ptr<Prepared> prepared, bool simulated) {
  const SlotUses slots = find_slot_uses(*prepared);
  HostOperations operations = prepare_host_operations(*prepared, slots);
  Result<Transports> transports = open_transports(*prepared, slots, operations);
  if (!transports) return transports.error();
  std::unique_ptr<Sides> sides(new Sides(std::move(prepared), *std::move(transports), simulated));
  if (Status status = sides->open(std::move(operations)); !status) return status.error();
  return sides;
}

Sides::Sides(std::unique_ptr<Prepared> prepared, Transports transports, bool simulated)
    : prepared_(std::move(prepared)),
      transports_(std::move(transports)),
      simulated_(simulated),
      outputs_(prepared_->graph()),
      early_outputs_(*prepared_, transports_, outputs_) {}

Status Sides::open(HostOperations operations) {
  Result<std::unique_ptr<HostDriver>> host = HostDriver::create(*prepared_, std::move(operations), transports_, outputs_);
  if (!host) return host.error();
  host_ = *std::move(host);
  for (std::size_t d = 1; d < prepared_->devices.size(); ++d) {
    if (!prepared_->devices[DeviceId(d)]) continue;
    Result<std::unique_ptr<DeviceDriver>> driver = DeviceDriver::create(*prepared_, transports_, DeviceId(d));
    if (!driver) return driver.error();
    drivers_.push_back(*std::move(driver));
  }
  driver_threads_.resize(drivers_.size());
  if (drivers_.empty()) return {};
  const std::size_t streams = simulated_ ? drivers_.size() * kStreamCount : 0;
  return ThreadCache::warm(threads_, drivers_.size() + streams);
}

Status Sides::borrow_threads(const RunOptions& options) {
  const auto borrow = [this](LentThread& thread) -> Status {
    Result<LentThread> lent = ThreadCache::lend(threads_);
    if (!lent) return lent.error();
    thread = *std::move(lent);
    return {};
  };
  for (LentThread& thread : driver_threads_)
    if (Status borrowed = borrow(thread); !borrowed) return borrowed;
  return options.on_output && early_outputs_.needed() ? borrow(early_thread_) : Status();
}

void Sides::give_threads_back() {
  for (LentThread& thread : driver_threads_) thread = {};
  early_thread_ = {};
}

Status Sides::begin(RunState& run, const RunOptions& options, const std::map<NodeId, Array>& leaves, const std::set<NodeId>& resident) {
  prepared_->caller_memory.begin(prepared_->graph(), options, leaves, simulated_);
  for (const std::unique_ptr<Transport>& transport : transports_.of)
    if (transport) transport->begin(options, prepared_->caller_memory);
  for (ControlStream& control : prepared_->controls) control.reset();
  std::size_t begun = 0;
  Status status = detail::guard_memory([&]() -> Status {
    for (; begun < drivers_.size(); ++begun)
      if (Status driver = drivers_[begun]->begin(run, options, leaves, resident); !driver) return driver;
    if (Status host = host_->begin(run, options, leaves, simulated_); !host) return host;
    outputs_.begin(options.on_output);
    return {};
  });
  for (std::size_t i = 0; !status && i < begun; ++i) drivers_[i]->queue().device().end_run();
  return status;
}

void Sides::walk(RunState& run, RunProgress* progress) {
  const bool early = outputs_.listening() && early_outputs_.needed();
  for (std::size_t i = 0; i < drivers_.size(); ++i)
    driver_threads_[i]->start([driver = drivers_[i].get(), from = host_->clock().start()] { driver->drive(from); });
  if (early) early_thread_->start([this, &run] { early_outputs_.work(run); });
  runtime::walk(*prepared_->program, kHost, prepared_->plans[kHost], run, *host_, progress);
  host_->end_walk();
  if (run.failed()) release();
  for (const LentThread& thread : driver_threads_) thread->wait();
  if (early) early_thread_->wait();
}

/// Ends the devices' waits for values that the host will not send any more; results computed without those values are not used.
void Sides::release() const {
  for (const std::unique_ptr<Transport>& transport : transports_.of)
    if (transport) transport->release();
}

void Sides::abort() const {
  for (const std::unique_ptr<Device>& device : prepared_->devices)
    if (device) device->abort();
  release();
}

Status Sides::tell_rest() {
  host_->clock().track().tell_rest();
  Status told = host_->clock().track().told();
  if (const Status logged = host_->steps().finish(); told) told = logged;
  for (const std::unique_ptr<DeviceDriver>& driver : drivers_) {
    Track& track = driver->queue().track();
    track.tell_rest();
    if (told) told = track.told();
  }
  return told;
}

template <class F>
void Sides::on_thread(std::size_t driver, F&& call) {
  const auto job = [this, driver, &call] { call(*drivers_[driver]); };
  driver_threads_[driver]->start([&job] { job(); });
  driver_threads_[driver]->wait();
}

Status Sides::take_over_states(bool went_well) {
  Status taken;
  for (std::size_t i = 0; i < drivers_.size(); ++i) {
    if (!drivers_[i]->contents().keeps_states()) continue;
    on_thread(i, [&](DeviceDriver& driver) {
      if (const Status status = driver.contents().take_over_states(went_well); !status) taken = status;
    });
  }
  return taken;
}

Result<Array> Sides::read(ValueId value) {
  Result<Array> array = Error{"the state lies on no accelerator"};
  for (std::size_t i = 0; i < drivers_.size(); ++i) {
    if (!drivers_[i]->contents().keeps(value)) continue;
    on_thread(i, [&](DeviceDriver& driver) { array = detail::guard_memory([&] { return driver.contents().read(value); }); });
  }
  return array;
}

void Sides::let_go() {
  outputs_.begin(nullptr);
  host_->arrays().end();
  prepared_->caller_memory.end();
}

Result<RunResult> Sides::collect(const RunOptions& options) const {
  RunResult result;
  const Graph& graph = prepared_->graph();
  const std::vector<bool> state = state_outputs(graph), count = count_outputs(graph);
  const auto value = [&](ValueId id) {
    const std::optional<Array>& early = outputs_.array(id);
    return early ? *early : this->output(id);
  };
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (state[i]) continue;
    const Output& output = graph.outputs[i];
    const auto copied = [&] { return cut_to_lengths(graph, output, deliver(options, output.name, value(output.value)), value); };
    Result<Array> array = detail::guard_memory(copied);
    if (!array) return at_node(graph, graph.values[output.value].producer, array.error());
    (count[i] ? result.counts : result.outputs).emplace_back(output.name, *std::move(array));
  }
  count_transfers(result);
  double end = host_->clock().now();
  result.timeline.events = std::move(host_->clock().track().events());
  for (const std::unique_ptr<DeviceDriver>& driver : drivers_) {
    end = std::max(end, driver->queue().clock().now());
    const std::vector<TimelineEvent>& events = driver->queue().track().events();
    result.timeline.events.insert(result.timeline.events.end(), events.begin(), events.end());
  }
  std::stable_sort(result.timeline.events.begin(), result.timeline.events.end(),
                   [](const TimelineEvent& a, const TimelineEvent& b) { return a.start_seconds < b.start_seconds; });
  result.steps = host_->steps().steps();
  result.timeline.simulated = simulated_;
  result.simulated_seconds = simulated_ ? end : 0;
  if (options.observe) {
    Observation observation = host_->observation();
    for (const std::unique_ptr<DeviceDriver>& driver : drivers_) observation.add_controls(driver->observation());
    observation.transfers(result.timeline.events);
    result.observed = observation.profile(graph);
  }
  return result;
}

void Sides::count_transfers(RunResult& result) const {
  for (std::size_t c = 0; c < transports_.of.size(); ++c) {
    const Transport* const transport = transports_.of[ChannelId(c)].get();
    if (!transport) continue;
    const Channel& channel = prepared_->channel(ChannelId(c));
    TransferCount& sum = between_accelerators(channel) ? result.between_accelerators
                         : channel.to == kHost         ? result.accelerator_to_host
                                                       : result.host_to_accelerator;
    sum.count += transport->moved().count;
    sum.bytes += transport->moved().bytes;
  }
}

}  // namespace cleave::runtime
