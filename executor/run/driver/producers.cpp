#include "executor/run/driver/producers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/device/step_mark.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"
#include "graph/base/float_environment.h"
#include "graph/call_limits.h"

namespace cleave::runtime {

/// The memory and kernels of one trip under way.
struct Producers::Slot {
  struct Times {
    RunState::Clock::time_point begun, ended;
  };
  Array memory;
  std::vector<std::unique_ptr<HostKernel>> kernels;  ///< by work
  std::vector<std::vector<TensorView>> inputs, results;
  int lane = 0;  ///< of the timeline
  Calls::Call call;
  std::int64_t trip = -1;  ///< -1: free
  bool awaited = false;    ///< the host's thread has waited for the trip
  VirtualWorkers::Interval virtual_time;
  // Written by the worker, read once the call is over.
  std::size_t made = 0;  ///< number of works done
  Status status;         ///< of work number `made`
  std::vector<Times> times;
};

struct Producers::Loop {
  const PreparedProducer* prepared = nullptr;
  std::vector<std::unique_ptr<Slot>> slots;  ///< by trip, modulo their number
  bool active = false;                       ///< trips are made ahead in the current execution of the loop
  Position at;                               ///< of the loop's step
  std::int64_t count = 0, started = 0;
  std::atomic<bool> over = false;  ///< trips under way are not wanted any more
  std::stop_source stop;           ///< tells the same to host functions
};

namespace {

/// Tells kernels that a trip is not wanted any more, because the run has failed before it or the loop has ended.
class TripSign final : public StopSign {
 public:
  TripSign(const RunState& run, const Position& at, const std::atomic<bool>& over) : run_(run), at_(at), over_(over), under_(this) {}
  [[nodiscard]] bool stopped() const override { return over_.load(std::memory_order_relaxed) || run_.stops(at_); }

 private:
  const RunState& run_;
  const Position& at_;
  const std::atomic<bool>& over_;
  const UnderSign under_;
};

}  // namespace

Producers::Producers(const Prepared& prepared, HostKernels& kernels, HostEnd& end, Calls& workers, VirtualWorkers& virtual_workers)
    : prepared_(prepared),
      graph_(prepared.graph()),
      kernels_(kernels),
      end_(end),
      workers_(workers),
      virtual_workers_(virtual_workers),
      producers_(prepare_producers(prepared, kernels.operations())),
      places_(producers_.empty() ? 0 : graph_.nodes.size()) {
  for (const PreparedProducer& producer : producers_) {
    loops_.push_back(std::make_unique<Loop>());
    prepare(*loops_.back(), producer);
  }
}

Producers::~Producers() = default;

void Producers::prepare(Loop& loop, const PreparedProducer& producer) {
  loop.prepared = &producer;
  const auto number = static_cast<std::int32_t>(loops_.size() - 1);
  for (const NodeId node : producer.producer->nodes) places_[node].loop = number;
  for (std::size_t w = 0; w < producer.works.size(); ++w) places_[producer.works[w].node].work = static_cast<std::int32_t>(w);
  int lane = 0;
  for (std::size_t l = 0; l + 1 < loops_.size(); ++l) lane += static_cast<int>(loops_[l]->slots.size());
  for (int s = 0; s < producer.producer->ahead; ++s) {
    Slot& slot = *loop.slots.emplace_back(std::make_unique<Slot>());
    slot.lane = lane++;
    slot.memory = Array(TensorType{DType::u8, {producer.slot_bytes}});
    std::byte* const memory = slot.memory.mutable_bytes();
    const auto views = [&](const std::vector<PreparedProducer::Operand>& operands) {
      std::vector<TensorView> all;
      for (const PreparedProducer::Operand& each : operands)
        all.push_back({&graph_.values[each.value].type, each.offset == PreparedProducer::kOutside ? nullptr : memory + each.offset});
      return all;
    };
    for (const PreparedProducer::Work& work : producer.works) {
      slot.kernels.push_back(prepare_host_kernel(host_request(prepared_, work.node)));
      slot.inputs.push_back(views(work.inputs));
      slot.results.push_back(views(work.results));
    }
    slot.times.resize(producer.works.size());
    slot.call.work = [this, &loop, &slot](const Calls::Call&) {
      slot.status = detail::guard_memory([&] {
        make(loop, slot);
        return std::move(slot.status);
      });
      return Status();
    };
  }
}

void Producers::begin() {
  for (const std::unique_ptr<Loop>& loop : loops_) loop->active = false;  // of a run that was left by longjmp
}

void Producers::end() {
  for (const std::unique_ptr<Loop>& loop : loops_) stop(*loop);
}

const std::vector<ValueId>* Producers::reads(NodeId loop) const {
  for (const PreparedProducer& producer : producers_)
    if (producer.producer->loop == loop) return &producer.reads;
  return nullptr;
}

void Producers::begin_loop(NodeId node, const Origin& here, std::int64_t count) {
  if (count < 2 || kernels_.verifies()) return;
  for (const std::unique_ptr<Loop>& each : loops_) {
    Loop& loop = *each;
    if (loop.prepared->producer->loop != node) continue;
    loop.active = true;
    loop.at = here.position;
    loop.count = count;
    loop.started = 0;
    loop.over = false;
    loop.stop = std::stop_source();
    for (const std::unique_ptr<Slot>& slot : loop.slots) {
      slot->trip = -1;
      for (std::size_t w = 0; w < loop.prepared->works.size(); ++w) {
        const std::vector<PreparedProducer::Operand>& inputs = loop.prepared->works[w].inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (inputs[i].offset == PreparedProducer::kOutside) slot->inputs[w][i].data = end_.storage.of(inputs[i].value);
      }
    }
    const auto first = std::min(count, static_cast<std::int64_t>(loop.slots.size()));
    for (std::int64_t trip = 0; trip < first; ++trip) start(loop, trip);
  }
}

void Producers::start(Loop& loop, std::int64_t trip) {
  Slot& slot = *loop.slots[static_cast<std::size_t>(trip) % loop.slots.size()];
  slot.trip = trip;
  slot.awaited = false;
  slot.made = 0;
  slot.status = {};
  slot.virtual_time = virtual_workers_.take(end_.clock.now(), loop.prepared->virtual_seconds);
  slot.call.here.node = loop.prepared->works.front().node;
  slot.call.here.position = loop.at;
  slot.call.here.position.push_back(trip);
  slot.call.here.position.push_back(loop.prepared->works.front().order);
  const auto number = static_cast<std::int32_t>(trip);
  std::memcpy(slot.memory.mutable_bytes(), &number, sizeof number);
  loop.started = trip + 1;
  workers_.start(slot.call);
}

/// Makes the data of one trip, on a worker.
void Producers::make(Loop& loop, Slot& slot) {
  const StandardFloats standard;
  Origin here = slot.call.here;
  for (; slot.made < slot.kernels.size(); ++slot.made) {
    const PreparedProducer::Work& work = loop.prepared->works[slot.made];
    here.node = work.node;
    here.position.back() = work.order;
    if (loop.over || end_.run().stops(here.position)) return;
    slot.times[slot.made].begun = RunState::Clock::now();
    slot.status = run(loop, slot, slot.made, here);
    slot.times[slot.made].ended = RunState::Clock::now();
    if (!slot.status) return;
  }
}

Status Producers::run(Loop& loop, Slot& slot, std::size_t work, const Origin& here) {
  OpContext context;
  KernelCall call = kernels_.call(here.node, context);
  call.inputs = slot.inputs[work];
  call.results = slot.results[work];
  const RunState::Executing executing(end_.run(), here.position);
  const TripSign sign(end_.run(), here.position, loop.over);
  const StepMark mark(graph_, here.node);
  if (!kernels_.operations().of[here.node].calls_user) return run_guarded(*slot.kernels[work], call);
  const ForeignCallScope place(graph_.nodes[here.node].location);
  const RunState::Interruptible interruptible(end_.run(), here);
  std::stop_source unwanted;
  const auto tell = [&unwanted] { unwanted.request_stop(); };
  const std::stop_callback run_stops(interruptible.token(), tell), loop_ends(loop.stop.get_token(), tell);
  const CallLimits limits{unwanted.get_token(), prepared_.patience};
  context.limits = &limits;
  return run_guarded(*slot.kernels[work], call);
}

bool Producers::takes(NodeId node) const {
  if (loops_.empty()) return false;
  const std::int32_t loop = places_[node].loop;
  return loop >= 0 && loops_[static_cast<std::size_t>(loop)]->active;
}

bool Producers::take(const Origin& here, std::int64_t trip) {
  const Place place = places_[here.node];
  if (place.work < 0) return true;
  Loop& loop = *loops_[static_cast<std::size_t>(place.loop)];
  Slot& slot = *loop.slots[static_cast<std::size_t>(trip) % loop.slots.size()];
  const auto work = static_cast<std::size_t>(place.work);
  if (!slot.awaited && !await(loop, slot, here)) return false;
  if (slot.made <= work) return !slot.status && end_.fail(here, slot.status.error());
  if (!kernels_.wait_for_slots(here)) return false;
  kernels_.place(here.node);
  const std::span<const TensorView> results = kernels_.results(here.node);
  for (std::size_t r = 0; r < results.size(); ++r) {
    const auto bytes = static_cast<std::size_t>(results[r].type->bytes());
    if (loop.prepared->works[work].results[r].leaves && bytes > 0) std::memcpy(results[r].data, slot.results[work][r].data, bytes);
  }
  record(loop, slot, work);
  if (work + 1 < loop.prepared->works.size()) return true;
  slot.trip = -1;
  if (loop.started < loop.count) start(loop, loop.started);
  return true;
}

/// The host's thread waits for the data of a trip, on both clocks. False: the run has stopped.
bool Producers::await(Loop& loop, Slot& slot, const Origin& here) {
  const double asked = end_.clock.mark();
  workers_.wait(slot.call);
  end_.clock.waited(asked, here.node);
  end_.clock.wait_until(slot.virtual_time.end, here.node);
  slot.awaited = true;
  return !end_.run().stops(here.position) && !loop.over;
}

/// Records the time of a work for timeline and profile.
void Producers::record(const Loop& loop, const Slot& slot, std::size_t work) {
  const NodeId node = loop.prepared->works[work].node;
  const auto& [begun, ended] = slot.times[work];
  kernels_.observe(node, {std::chrono::duration<double>(ended - begun).count()});
  Track& track = end_.clock.track();
  if (!track.on()) return;
  double begin = slot.virtual_time.begin;
  for (const NodeId before : loop.prepared->producer->nodes) {
    if (before == node) break;
    begin += prepared_.costs.seconds[kHost][before];
  }
  const double end = begin + prepared_.costs.seconds[kHost][node];
  track.add({TimelineEvent::What::compute, kHost, node, end_.clock.on_timeline(begin, begun), end_.clock.on_timeline(end, ended), 0,
             TimelineEvent::Lane::calls, nullptr, slot.lane});
}

void Producers::end_loop(NodeId node) {
  for (const std::unique_ptr<Loop>& loop : loops_)
    if (loop->prepared->producer->loop == node) stop(*loop);
}

/// Drops the trips that no worker has begun, the last one first, and waits for the others.
void Producers::stop(Loop& loop) {
  if (!std::exchange(loop.active, false)) return;
  loop.over = true;
  loop.stop.request_stop();
  for (std::int64_t trip = loop.started; trip-- > 0 && loop.started - trip <= static_cast<std::int64_t>(loop.slots.size());) {
    Slot& slot = *loop.slots[static_cast<std::size_t>(trip) % loop.slots.size()];
    if (slot.trip != trip) continue;
    workers_.wait_or_drop(slot.call);
    if (slot.virtual_time.begin >= end_.clock.now())
      virtual_workers_.give_back(slot.virtual_time);
    else
      end_.clock.catch_up(slot.virtual_time.end);
    slot.trip = -1;
  }
}

}  // namespace cleave::runtime
