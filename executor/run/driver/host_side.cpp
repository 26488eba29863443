#include "executor/run/driver/host_side.h"

#include <cstring>
#include <utility>

#include "executor/check/verify_node.h"
#include "executor/device/step_mark.h"
#include "graph/base/boundary.h"
#include "graph/call_limits.h"

namespace cleave::runtime {

Status HostSide::begin(RunState& run, const RunOptions& options, std::map<NodeId, Array> leaves, bool virtual_time) {
  run_ = &run;
  options_ = options;
  context_.print = print_or_stdout(options);
  leaves_ = std::move(leaves);
  given_.clear();
  storage_.begin();
  for (TransferProgress& progress : progress_) {
    progress.slot = nullptr;
    progress.parts = 0;
  }
  virtual_time_ = virtual_time;
  calls_.begin(run);
  for (BesideCall* call : under_way_) call->pending.reset();  // of a run that was left by longjmp
  under_way_.clear();
  workers_free_.assign(static_cast<std::size_t>(std::max(1, prepared_.program->workers)), 0);
  now_ = prepared_.costs.run_seconds;
  start_ = RunState::Clock::now();
  observation_ = {};
  sample_clock_ = {};
  track_.begin(options);
  // The caller's arrays and the program's constants are read in place. No kernel writes its inputs: casting `const` away is safe.
  auto use_in_place = [&](NodeId node, const Array& array) {
    StorageIndex storage = plan_.storage_of[graph_.nodes[node].results[0]];
    if (storage != kNoStorage && plan_.storages[static_cast<std::size_t>(storage)].external)
      storage_.set_external(storage, const_cast<std::byte*>(array.bytes()));
  };
  for (const auto& [node, array] : leaves_) use_in_place(node, array);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[NodeId(i)].kind == NodeKind::constant) use_in_place(NodeId(i), graph_.nodes[NodeId(i)].attributes.get<Array>("value"));
  }
  if (Status status = take_leaving(); !status) return status;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!operations_[NodeId(i)].kernel) continue;
    std::size_t view = operations_[NodeId(i)].first_view;
    for (const ValueId value : reads(NodeId(i))) kept_[view++] = is_kept(value) ? 1 : 0;
    view = operations_[NodeId(i)].first_view;
    for (const auto* values : {&reads(NodeId(i)), &writes(NodeId(i))}) {
      for (const ValueId value : *values) views_[view++].data = data(value);
    }
  }
  return {};
}

/// True if the value's memory is never written between runs, so that kernels may keep what they derive from it.
bool HostSide::is_kept(ValueId value) const {
  const NodeId producer = graph_.values[value].producer;
  const Node& node = graph_.nodes[producer];
  if (node.kind == NodeKind::constant) return true;
  if (node.kind != NodeKind::parameter || changes_.contains(producer) || options_.inputs.contains(graph_.values[value].name)) return false;
  const auto leaf = leaves_.find(producer);
  return leaf != leaves_.end() && !leaf->second.borrowed();
}

/// Prepares outputs to be computed in the arrays that the run returns.
Status HostSide::take_leaving() {
  for (const Output& output : graph_.outputs) {
    const StorageIndex storage = plan_.storage_of[output.value];
    if (storage == kNoStorage || !plan_.storages[static_cast<std::size_t>(storage)].leaves || leaving_.contains(storage)) continue;
    const auto given = options_.results.find(output.name);
    Result<Array> array =
        given != options_.results.end() ? Result<Array>(given->second) : result_memory_.take(graph_.values[output.value].type);
    if (!array) return at_node(graph_, graph_.values[output.value].producer, array.error());
    storage_.set_external(storage, writable(*array));
    leaving_.emplace(storage, *std::move(array));
  }
  return {};
}

double HostSide::time() const {
  return virtual_time_ ? now_ : std::chrono::duration<double>(RunState::Clock::now() - start_).count();
}

bool HostSide::fail(const Origin& here, Error error) {
  run_->fail(here, std::move(error));
  return false;
}

Array HostSide::snapshot(const TensorView& view) const {
  Array copy(*view.type);
  if (view.type->bytes() > 0) std::memcpy(copy.mutable_bytes(), view.data, static_cast<std::size_t>(view.type->bytes()));
  return copy;
}

Array HostSide::output(ValueId value) const {
  const Node& producer = graph_.producer(value);
  if (auto leaf = leaves_.find(graph_.values[value].producer); leaf != leaves_.end()) return leaf->second;
  if (producer.kind == NodeKind::constant) return producer.attributes.get<Array>("value");
  if (given_.contains(value)) return *prepared_.caller_memory.target(value);
  const auto leaving = leaving_.find(plan_.storage_of[value]);
  if (leaving != leaving_.end() && leaving->second.type() == graph_.values[value].type) return leaving->second;
  return snapshot({&graph_.values[value].type, data(value)});
}

bool HostSide::compute(const Step& step, const Origin& here, std::int64_t trip) {
  const Node& node = graph_.nodes[step.node];
  if (!under_way_.empty() && !settle_step(node, step.node)) return false;
  if (node.kind == NodeKind::operation && operations_[step.node].beside) return start_call(node, here);
  double start = track_.on() ? time() : 0, waited = 0;
  const bool overlaps = this->overlaps(step.node);
  if (node.kind == NodeKind::operation) {
    if (overlaps ? !overlapped(node, here, waited) : !operation(node, here)) return false;
  } else if (node.kind == NodeKind::counter) {
    auto number = static_cast<std::int32_t>(trip);
    std::memcpy(data(node.results[0]), &number, sizeof number);
  }
  if (node.kind != NodeKind::operation || operations_[step.node].kernel) {
    for (const ValueId result : writes(step.node))
      if (!hand_in(result, here)) return false;
  }
  if (node.kind != NodeKind::operation && node.kind != NodeKind::counter)
    return true;  // inputs, parameters and constants are available from the start
  if (!overlaps) now_ += prepared_.costs.host_seconds[step.node];
  if (!track_.on()) return true;
  if (waited > 0) {  // waits for chunks of operands are shown as if they all preceded the operation
    const NodeId producer = graph_.values[overlaps_[step.node].coming.front().value].producer;
    track_.add(TimelineEvent::What::wait, kHost, producer, start, start + waited);
  }
  track_.add(TimelineEvent::What::compute, kHost, step.node, start + waited, time());
  return true;
}

bool HostSide::operation(const Node& node, const Origin& here) {
  if (!operations_[here.node].kernel) return true;  // the node runs with a later one
  if (!operations_[here.node].calls_user) return operation(node, here, nullptr);
  const ForeignCallScope place(node.location);
  const RunState::Interruptible interruptible(*run_, here);
  const CallLimits limits{interruptible.token(), prepared_.patience};
  return operation(node, here, &limits);
}

/// Looks up the addresses of operands, which stay where they last arrived; only after that may the results be assigned other addresses.
void HostSide::find_places(NodeId id) {
  std::size_t view = operations_[id].first_view;
  for (const ValueId value : reads(id)) views_[view++].data = data(value);
  for (const ValueId value : writes(id)) {
    storage_.compute(value, *run_);
    views_[view++].data = data(value);
  }
}

KernelCall HostSide::call_of(const Node& node, NodeId id, const CallLimits* limits) {
  context_.limits = limits;
  if (operations_[id].moves) find_places(id);
  return placed_call(node, id, context_);
}

/// The call with the addresses that find_places() found.
KernelCall HostSide::placed_call(const Node& node, NodeId id, const OpContext& context) const {
  const Operation& operation = operations_[id];
  const std::size_t read = reads(id).size();
  const std::span<const TensorView> views(views_.data() + operation.first_view, read + writes(id).size());
  const std::span<const std::uint8_t> kept(kept_.data() + operation.first_view, read);
  return {*node.op, *operation.attributes, views.first(read), views.subspan(read), context, *prepared_.workers, kept};
}

bool HostSide::operation(const Node& node, const Origin& here, const CallLimits* limits) {
  const KernelCall call = call_of(node, here.node, limits);
  bool verify = options_.verify && graph_.purity(here.node) == Purity::pure;
  std::vector<Array> before, after;
  if (verify) {
    for (const TensorView& view : call.inputs) before.push_back(snapshot(view));
  }
  {
    const RunState::Executing executing(*run_, here.position, here.node);
    StepMark mark(graph_, here.node);
    if (options_.observe) sample_clock_.begin();
    Status status = run_guarded(*operations_[here.node].kernel, call);
    if (!status) return fail(here, status.error());
    if (options_.observe) observe(here.node, sample_clock_.end());
  }
  if (!verify) return true;
  const RunState::Executing executing(*run_, here.position, here.node);
  for (const TensorView& view : call.results) after.push_back(snapshot(view));
  if (Status told = announce_check(graph_, here.node, options_.on_verify); !told) return fail(here, told.error());
  const FusionGroup* group = fusion_.group(here.node);
  std::optional<Error> error = group ? check_against_references(prepared_.graph(), prepared_.bound, *group, before, after)
                                     : check_against_reference(prepared_.graph(), prepared_.bound, here.node, before, after, limits);
  return error ? fail(here, std::move(*error)) : true;
}

/// Fused operations share the kernel's time in proportion to their single costs, so that the sum is the measured time and none appears to
/// be free.
void HostSide::observe(NodeId node, const SampleClock::Sample& sample) {
  const FusionGroup* group = fusion_.group(node);
  if (!group) return observation_.seconds(node, sample.seconds, sample.preempted);
  const auto& alone = prepared_.costs.host_alone;
  const auto share = [&](NodeId member) { return member.index < alone.size() ? alone[member] : 0; };
  double all = 0;
  for (const NodeId member : group->nodes) all += share(member);
  for (const NodeId member : group->nodes)
    observation_.seconds(member, sample.seconds * (all > 0 ? share(member) / all : 1 / static_cast<double>(group->nodes.size())),
                         sample.preempted);
}

bool HostSide::move(const std::vector<Move>& moves, const Origin&) {
  for (const Move& m : moves) {
    if (!under_way_.empty() && (!settle_storage(m.from, false) || !settle_storage(m.to, true))) return false;
    auto bytes = static_cast<std::size_t>(plan_.storages[static_cast<std::size_t>(m.to)].range.bytes);
    if (bytes > 0) std::memcpy(storage_.at(m.to), storage_.at(m.from), bytes);
  }
  return true;
}

std::optional<std::int64_t> HostSide::decide(const Step& step, ValueId value, const Origin& here) {
  if (!settle(value, false)) return std::nullopt;
  const Result<std::int64_t> decision = decision_of(graph_, step.node, value, data(value));
  if (!decision) {
    fail(here, decision.error());
    return std::nullopt;
  }
  if (!step.drives_others) return *decision;
  for (std::size_t d = 1; d < prepared_.controls.size(); ++d) {
    if (!prepared_.walks[DeviceId(d)][step.node]) continue;
    if (!prepared_.controls[DeviceId(d)].put(*run_, kHost, here, {*decision, now_})) return std::nullopt;
  }
  return *decision;
}

void HostSide::enter(NodeId control) {
  const Node& node = graph_.nodes[control];
  const double trips = node.kind == NodeKind::branch ? 1 : node.expected;  // the trip count that the plan's seconds assume
  if (trips > 0) now_ += prepared_.costs.host_seconds[control] / trips;
}

void HostSide::outcome(NodeId control, std::int64_t value) {
  if (options_.observe) observation_.control(control, static_cast<double>(value));
}

bool HostSide::leave(const Step& control, const Origin& here) {
  for (NodeId carried : control.carried)
    if (!hand_in(graph_.nodes[carried].results[1], here)) return false;
  for (NodeId merge : control.merges)
    if (!hand_in(graph_.nodes[merge].results[0], here)) return false;
  return true;
}

}  // namespace cleave::runtime
