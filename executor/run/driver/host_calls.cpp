// HostSide, part: concurrent calls of host functions: when they start, and which steps wait for them. Dependences are found by memory as
// well as by value: a step that would write to memory that a call reads waits for the call, independently of the memory plan.
#include <functional>
#include <span>

#include "executor/device/step_mark.h"
#include "executor/run/driver/host_side.h"
#include "graph/base/boundary.h"
#include "graph/call_limits.h"

namespace cleave::runtime {
namespace {

bool overlap(const std::byte* a, std::int64_t a_bytes, const std::byte* b, std::int64_t b_bytes) {
  const std::less<> before;
  return a && b && a_bytes > 0 && b_bytes > 0 && before(a, b + b_bytes) && before(b, a + a_bytes);
}

}  // namespace

bool HostSide::start_call(const Node& node, const Origin& here) {
  Operation& operation = operations_[here.node];
  if (operation.moves) find_places(here.node);
  BesideCall& call = *operation.beside;
  call.here = here;
  call.lane = free_lane();
  time_virtually(call, operation.pends);
  under_way_.push_back(&call);
  if (!options_.verify) {
    if (operation.pends) return begin_pending(call);
    calls_.start(call);
    return true;
  }
  call.begun = RunState::Clock::now();
  const bool good = this->operation(node, here);
  call.ended = RunState::Clock::now();
  Calls::skip(call);
  return good;
}

/// As in the planner's schedule, a call goes to the worker that is free first.
void HostSide::time_virtually(BesideCall& call, bool pends) {
  call.virtual_begin = now_;
  const auto free = std::min_element(workers_free_.begin(), workers_free_.end());
  if (!pends) call.virtual_begin = std::max(now_, *free);
  call.virtual_end = call.virtual_begin + prepared_.costs.host_seconds[call.here.node];
  if (!pends) *free = call.virtual_end;
}

int HostSide::free_lane() const {
  int lane = 0;
  while (std::any_of(under_way_.begin(), under_way_.end(), [&](const BesideCall* call) { return call->lane == lane; })) ++lane;
  return lane;
}

/// Called on a worker's thread.
Status HostSide::run_call(const Calls::Call& call) {
  const NodeId id = call.here.node;
  const ForeignCallScope place(graph_.nodes[id].location);
  const RunState::Interruptible interruptible(*run_, call.here);
  const CallLimits limits{interruptible.token(), prepared_.patience};
  OpContext context;
  context.limits = &limits;
  const RunState::Executing executing(*run_, call.here.position);
  const StepMark mark(graph_, id);
  return run_guarded(*operations_[id].kernel, placed_call(graph_.nodes[id], id, context));
}

/// Begins the call on the host's own thread; the function returns at once.
bool HostSide::begin_pending(BesideCall& call) {
  const NodeId id = call.here.node;
  const ForeignCallScope place(graph_.nodes[id].location);
  const RunState::Executing executing(*run_, call.here.position, id);
  const StepMark mark(graph_, id);
  call.begun = RunState::Clock::now();
  Result<BegunCall> begun = begin_call(placed_call(graph_.nodes[id], id, OpContext{}));
  if (!begun) return fail(call.here, begun.error());
  call.pending = *std::move(begun);
  return true;
}

/// Waits until the holder of the token completes the call.
void HostSide::end_pending(BesideCall& call) {
  const NodeId id = call.here.node;
  const RunState::Interruptible interruptible(*run_, call.here);
  const CallLimits limits{interruptible.token(), prepared_.patience};
  OpContext context;
  context.limits = &limits;
  {
    const RunState::Executing executing(*run_, call.here.position, id);
    call.status = runtime::end_call(*call.pending, placed_call(graph_.nodes[id], id, context));
  }
  call.ended = call.pending->pending->completed();
  call.pending.reset();
  if (!call.status) run_->fail(call.here, call.status.error());
}

/// Waits for the call. False: it failed, or was not wanted any more.
bool HostSide::end_call(BesideCall& call) {
  if (call.pending)
    end_pending(call);
  else
    calls_.wait(call);
  std::erase(under_way_, &call);
  const NodeId id = call.here.node;
  if (!call.status || run_->stops(call.here.position)) return false;
  if (options_.observe && !options_.verify) observe(id, {std::chrono::duration<double>(call.ended - call.begun).count()});
  if (virtual_time_) now_ = std::max(now_, call.virtual_end);
  if (track_.on()) {
    const auto since = [this](RunState::Clock::time_point at) { return std::chrono::duration<double>(at - start_).count(); };
    track_.add({TimelineEvent::What::compute, kHost, id, virtual_time_ ? call.virtual_begin : since(call.begun),
                virtual_time_ ? call.virtual_end : since(call.ended), 0, TimelineEvent::Lane::calls, nullptr, call.lane});
  }
  const Origin here = call.here;
  const std::vector<ValueId>& results = writes(id);
  return std::all_of(results.begin(), results.end(), [&](ValueId result) { return hand_in(result, here); });
}

/// If the run has failed, waits for calls before the error, since their errors would precede it. Later calls are not waited for.
void HostSide::end_calls() {
  for (BesideCall* call : under_way_) {
    if (call->pending && !run_->stops(call->here.position)) end_pending(*call);
    call->pending.reset();
  }
  calls_.end();
  under_way_.clear();
}

/// Ends the calls that satisfy `concerned`, in program order.
template <class Condition>
bool HostSide::end_calls_if(const Condition& concerned) {
  for (std::size_t i = 0; i < under_way_.size();) {
    if (!concerned(*under_way_[i])) {
      ++i;
    } else if (!end_call(*under_way_[i])) {
      return false;
    }
  }
  return true;
}

bool HostSide::touches(const BesideCall& call, const std::byte* data, std::int64_t bytes, bool written) const {
  const NodeId id = call.here.node;
  const std::size_t read = reads(id).size(), all = read + writes(id).size();
  const TensorView* view = views_.data() + operations_[id].first_view;
  for (std::size_t i = written ? 0 : read; i < all; ++i)
    if (overlap(view[i].data, view[i].type->bytes(), data, bytes)) return true;
  return false;
}

bool HostSide::settle_storage(StorageIndex storage, bool writes) {
  if (storage == kNoStorage) return true;
  const std::int64_t bytes = plan_.storages[static_cast<std::size_t>(storage)].range.bytes;
  return end_calls_if([&](const BesideCall& call) {
    return touches(call, storage_.at(storage), bytes, writes) || (writes && touches(call, storage_.home(storage), bytes, true));
  });
}

/// Called before a step computes: waits until its operands are complete, until no call uses the memory that it writes, and, before an
/// effect, until no earlier call can fail.
bool HostSide::settle_step(const Node& node, NodeId id) {
  if (node.kind == NodeKind::counter) return settle(node.results, true);
  if (node.kind != NodeKind::operation || !operations_[id].kernel) return true;
  if (graph_.purity(id) == Purity::effect) return end_calls_if([](const BesideCall&) { return true; });
  return settle(reads(id), false) && settle(writes(id), true);
}

bool HostSide::end_block(const Origin& here) {
  return under_way_.empty() || end_calls_if([&](const BesideCall& call) { return call.here.position.size() >= here.position.size(); });
}

}  // namespace cleave::runtime
