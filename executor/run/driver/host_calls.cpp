#include "executor/run/driver/host_calls.h"

#include <functional>

#include "executor/device/step_mark.h"
#include "executor/run/prepare/prepare_producers.h"
#include "graph/base/boundary.h"
#include "graph/call_limits.h"

namespace cleave::runtime {
namespace {

bool overlap(const std::byte* a, std::int64_t a_bytes, const std::byte* b, std::int64_t b_bytes) {
  const std::less<> before;
  return a && b && a_bytes > 0 && b_bytes > 0 && before(a, b + b_bytes) && before(b, a + a_bytes);
}

}  // namespace

HostCalls::HostCalls(const Prepared& prepared, HostKernels& kernels, RunArrays& arrays, HostEnd& end, Calls& workers,
                     VirtualWorkers& virtual_workers)
    : prepared_(prepared),
      graph_(prepared.graph()),
      plan_(prepared.plans[kHost]),
      kernels_(kernels),
      arrays_(arrays),
      end_(end),
      calls_(workers),
      virtual_workers_(virtual_workers) {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    calls_of_.push_back(nullptr);
    const HostFunction::Beside beside = kernels.operations().of[NodeId(i)].beside;
    if (beside == HostFunction::Beside::never) continue;
    calls_of_[NodeId(i)] = std::make_unique<BesideCall>();
    BesideCall& call = *calls_of_[NodeId(i)];
    call.work = [this](const Calls::Call& started) { return run_on_worker(started); };
    call.pends = beside == HostFunction::Beside::pending;
  }
}

void HostCalls::begin() {
  for (BesideCall* call : under_way_) call->pending.reset();  // of a run that was left by longjmp
  under_way_.clear();
}

bool HostCalls::start(const Origin& here) {
  kernels_.place(here.node);
  BesideCall& call = *calls_of_[here.node];
  call.here = here;
  call.lane = free_lane();
  time_virtually(call);
  under_way_.push_back(&call);
  if (!kernels_.verifies()) {
    if (call.pends) return begin_pending(call);
    calls_.start(call);
    return true;
  }
  call.begun = RunState::Clock::now();
  const bool good = kernels_.run(here);
  call.ended = RunState::Clock::now();
  Calls::skip(call);
  return good;
}

void HostCalls::time_virtually(BesideCall& call) {
  const double now = end_.clock.now(), seconds = prepared_.costs.seconds[kHost][call.here.node];
  const VirtualWorkers::Interval time = call.pends ? VirtualWorkers::Interval{now, now + seconds} : virtual_workers_.take(now, seconds);
  call.virtual_begin = time.begin;
  call.virtual_end = time.end;
}

int HostCalls::free_lane() const {
  int lane = lanes_of_producers(*prepared_.program);
  while (std::any_of(under_way_.begin(), under_way_.end(), [&](const BesideCall* call) { return call->lane == lane; })) ++lane;
  return lane;
}

Status HostCalls::run_on_worker(const Calls::Call& call) {
  const NodeId id = call.here.node;
  const ForeignCallScope place(graph_.nodes[id].location);
  const RunState::Interruptible interruptible(end_.run(), call.here);
  const CallLimits limits{interruptible.token(), prepared_.patience};
  OpContext context;
  context.limits = &limits;
  const RunState::Executing executing(end_.run(), call.here.position);
  const StepMark mark(graph_, id);
  return run_guarded(kernels_.kernel(id), kernels_.call(id, context));
}

/// Begins the call on the host's own thread; the function returns at once.
bool HostCalls::begin_pending(BesideCall& call) {
  const NodeId id = call.here.node;
  const ForeignCallScope place(graph_.nodes[id].location);
  const RunState::Executing executing(end_.run(), call.here.position, id);
  const StepMark mark(graph_, id);
  call.begun = RunState::Clock::now();
  Result<BegunCall> begun = begin_call(kernels_.call(id, OpContext{}));
  if (!begun) return end_.fail(call.here, begun.error());
  call.pending = *std::move(begun);
  return true;
}

/// Waits until the holder of the token completes the call.
void HostCalls::end_pending(BesideCall& call) {
  const NodeId id = call.here.node;
  const RunState::Interruptible interruptible(end_.run(), call.here);
  const CallLimits limits{interruptible.token(), prepared_.patience};
  OpContext context;
  context.limits = &limits;
  {
    const RunState::Executing executing(end_.run(), call.here.position, id);
    call.status = runtime::end_call(*call.pending, kernels_.call(id, context));
  }
  call.ended = call.pending->pending->completed();
  call.pending.reset();
  if (!call.status) end_.fail(call.here, call.status.error());
}

/// Waits for the call. False: it failed, or was not wanted any more.
bool HostCalls::end_call(BesideCall& call) {
  if (call.pending)
    end_pending(call);
  else
    calls_.wait(call);
  std::erase(under_way_, &call);
  const NodeId id = call.here.node;
  if (!call.status || end_.run().stops(call.here.position)) return false;
  if (!kernels_.verifies()) kernels_.observe(id, {std::chrono::duration<double>(call.ended - call.begun).count()});
  end_.clock.catch_up(call.virtual_end);
  if (Track& track = end_.clock.track(); track.on())
    track.add({TimelineEvent::What::compute, kHost, id, end_.clock.on_timeline(call.virtual_begin, call.begun),
               end_.clock.on_timeline(call.virtual_end, call.ended), 0, TimelineEvent::Lane::calls, nullptr, call.lane});
  const Origin here = call.here;
  const std::vector<ValueId>& results = kernels_.operations().writes(id);
  return std::all_of(results.begin(), results.end(), [&](ValueId result) { return arrays_.hand_in(result, here); });
}

/// If the run has failed, waits for calls before the error, since their errors would precede it. Later calls are not waited for.
void HostCalls::end() {
  for (BesideCall* call : under_way_) {
    if (call->pending && !end_.run().stops(call->here.position)) end_pending(*call);
    call->pending.reset();
  }
  under_way_.clear();
}

/// Ends the calls that satisfy `concerned`, in program order.
template <class Condition>
bool HostCalls::end_calls_if(const Condition& concerned) {
  for (std::size_t i = 0; i < under_way_.size();) {
    if (!concerned(*under_way_[i])) {
      ++i;
    } else if (!end_call(*under_way_[i])) {
      return false;
    }
  }
  return true;
}

bool HostCalls::touches(const BesideCall& call, const std::byte* data, std::int64_t bytes, bool writes) const {
  const auto any = [&](std::span<const TensorView> views) {
    return std::any_of(views.begin(), views.end(),
                       [&](const TensorView& view) { return overlap(view.data, view.type->bytes(), data, bytes); });
  };
  return (writes && any(kernels_.inputs(call.here.node))) || any(kernels_.results(call.here.node));
}

bool HostCalls::settle_storage(StorageIndex storage, bool writes) {
  if (under_way_.empty() || storage == kNoStorage) return true;
  const std::int64_t bytes = plan_.range(storage).bytes;
  return end_calls_if([&](const BesideCall& call) {
    return touches(call, end_.storage.at(storage), bytes, writes) || (writes && touches(call, end_.storage.home(storage), bytes, true));
  });
}

bool HostCalls::settle_step(const Node& node, NodeId id) {
  if (under_way_.empty()) return true;
  if (node.kind == NodeKind::counter) return settle(node.results, true);
  if (node.kind != NodeKind::operation || !kernels_.operations().of[id].kernel) return true;
  if (graph_.purity(id) == Purity::effect) return end_calls_if([](const BesideCall&) { return true; });
  return settle(kernels_.operations().reads(id), false) && settle(kernels_.operations().writes(id), true);
}

bool HostCalls::end_block(const Origin& here) {
  return under_way_.empty() || end_calls_if([&](const BesideCall& call) { return call.here.position.size() >= here.position.size(); });
}

}  // namespace cleave::runtime
