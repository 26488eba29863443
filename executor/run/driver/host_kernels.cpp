#include "executor/run/driver/host_kernels.h"

#include <utility>

#include "executor/check/verify_node.h"
#include "executor/device/step_mark.h"
#include "graph/base/boundary.h"
#include "graph/call_limits.h"

namespace cleave::runtime {

HostKernels::HostKernels(const Prepared& prepared, HostOperations operations, const Transports& transports, HostEnd& end)
    : prepared_(prepared),
      graph_(prepared.graph()),
      operations_(std::move(operations)),
      transports_(transports),
      end_(end),
      views_(operations_.views),
      kept_(views_.size(), 0) {}

void HostKernels::begin(const RunOptions& options, const RunArrays& arrays, StepCollector& steps) {
  options_ = &options;
  context_.print = print_or_stdout(options);
  context_.log = [&steps](std::string_view label, const Array& value) { return steps.log(label, value); };
  observation_ = {};
  sample_clock_ = {};
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const NodeId id(i);
    if (!operations_.of[id].kernel) continue;
    std::size_t view = operations_.of[id].first_view;
    for (const ValueId value : operations_.reads(id)) kept_[view++] = arrays.is_kept(value, options) ? 1 : 0;
    view = operations_.of[id].first_view;
    for (const auto* values : {&operations_.reads(id), &operations_.writes(id)}) {
      for (const ValueId value : *values) views_[view++].data = end_.storage.of(value);
    }
  }
}

std::span<const TensorView> HostKernels::inputs(NodeId id) const {
  return {views_.data() + operations_.of[id].first_view, operations_.reads(id).size()};
}

std::span<const TensorView> HostKernels::results(NodeId id) const {
  return {views_.data() + operations_.of[id].first_view + operations_.reads(id).size(), operations_.writes(id).size()};
}

/// Operands stay where they last arrived; only after they are looked up may the results be assigned other addresses.
void HostKernels::place(NodeId id) {
  if (!operations_.of[id].moves) return;
  std::size_t view = operations_.of[id].first_view;
  for (const ValueId value : operations_.reads(id)) views_[view++].data = end_.storage.of(value);
  for (const ValueId value : operations_.writes(id)) {
    if (RingToDevice* const slots = transports_.result_slots[value]) slots->place_result(end_);
    views_[view++].data = end_.storage.of(value);
  }
}

KernelCall HostKernels::call(NodeId id, const OpContext& context) const {
  const HostOperation& operation = operations_.of[id];
  const std::span<const std::uint8_t> kept(kept_.data() + operation.first_view, operations_.reads(id).size());
  return {*graph_.nodes[id].op,     *operation.attributes, inputs(id), results(id), context, *prepared_.workers, kept,
          prepared_.constants.get()};
}

KernelCall HostKernels::call(NodeId id, const CallLimits* limits) {
  context_.limits = limits;
  return call(id, context_);
}

bool HostKernels::wait_for_slots(const Origin& here) {
  if (!operations_.of[here.node].moves) return true;
  for (const ValueId value : operations_.writes(here.node))
    if (RingToDevice* const slots = transports_.awaited_slots[value]; slots && !slots->wait_for_slot(end_, here)) return false;
  return true;
}

bool HostKernels::run(const Origin& here) {
  if (!operations_.of[here.node].kernel) return true;  // the node runs with a later one
  if (!operations_.of[here.node].calls_user) return run(here, nullptr);
  const ForeignCallScope place(graph_.nodes[here.node].location);
  const RunState::Interruptible interruptible(end_.run(), here);
  const CallLimits limits{interruptible.token(), prepared_.patience};
  return run(here, &limits);
}

bool HostKernels::run(const Origin& here, const CallLimits* limits) {
  place(here.node);
  const KernelCall called = call(here.node, limits);
  const bool verifies = prepared_.nan_search ? prepared_.nan_search->looks_at(here.node, operations_.fusion->group(here.node))
                                             : options_->verify && graph_.purity(here.node) == Purity::pure;
  std::vector<Array> before;
  if (verifies) {
    for (const TensorView& view : called.inputs) before.push_back(snapshot(view));
  }
  {
    const RunState::Executing executing(end_.run(), here.position, here.node);
    StepMark mark(graph_, here.node);
    if (options_->observe) sample_clock_.begin();
    Status status = run_guarded(kernel(here.node), called);
    if (!status) return end_.fail(here, status.error());
    if (options_->observe) observe(here.node, sample_clock_.end());
  }
  return !verifies || verify(here, before, called.results, limits);
}

bool HostKernels::verify(const Origin& here, const std::vector<Array>& before, std::span<const TensorView> results,
                         const CallLimits* limits) {
  const RunState::Executing executing(end_.run(), here.position, here.node);
  std::vector<Array> after;
  for (const TensorView& view : results) after.push_back(snapshot(view));
  const FusionGroup* group = operations_.fusion->group(here.node);
  if (prepared_.nan_search) {
    prepared_.nan_search->look(prepared_.bound, here.node, group, before, after);
    return true;
  }
  if (Status told = announce_check(graph_, here.node, options_->on_verify); !told) return end_.fail(here, told.error());
  std::optional<Error> error = group ? check_against_references(graph_, prepared_.bound, *group, before, after)
                                     : check_against_reference(graph_, prepared_.bound, here.node, before, after, limits);
  return error ? end_.fail(here, std::move(*error)) : true;
}

bool HostKernels::run_pieces(const KernelCall& call, const Origin& here, std::int64_t begin, std::int64_t end,
                             SampleClock::Sample& sample) {
  if (end_.run().stops(here.position)) return false;
  const RunState::Executing executing(end_.run(), here.position, here.node);
  if (options_->observe) sample_clock_.begin();
  const Status status = run_guarded(kernel(here.node), call, begin, end);
  if (!status) return end_.fail(here, status.error());
  if (options_->observe) {
    const SampleClock::Sample part = sample_clock_.end();
    sample.seconds += part.seconds;
    sample.preempted = sample.preempted || part.preempted;
  }
  return true;
}

/// Fused operations share the kernel's time in proportion to their single costs, so that the sum is the measured time and none appears to
/// be free.
void HostKernels::observe(NodeId id, const SampleClock::Sample& sample) {
  if (!options_->observe) return;
  const FusionGroup* group = operations_.fusion->group(id);
  if (!group) return observation_.seconds(id, sample.seconds, sample.preempted);
  const auto& alone = prepared_.costs.host_alone;
  const auto share = [&](NodeId member) { return member.index < alone.size() ? alone[member] : 0; };
  double all = 0;
  for (const NodeId member : group->nodes) all += share(member);
  for (const NodeId member : group->nodes)
    observation_.seconds(member, sample.seconds * (all > 0 ? share(member) / all : 1 / static_cast<double>(group->nodes.size())),
                         sample.preempted);
}

}  // namespace cleave::runtime
