// HostSide, part: overlap of transfers and host work: runs the operations of overlap.h some pieces at a time. The virtual clock uses the
// same ranges and chunks, however a value is really transferred.
#include <algorithm>
#include <cstring>
#include <utility>

#include "executor/device/step_mark.h"
#include "executor/run/driver/host_side.h"

namespace cleave::runtime {

/// `waited`: seconds spent waiting for chunks of operands.
bool HostSide::overlapped(const Node& node, const Origin& here, double& waited) {
  const Overlap& overlap = overlaps_[here.node];
  const KernelCall call = call_of(node, here.node, nullptr);
  const StepMark mark(graph_, here.node);
  for (const Overlap::OverlappedTransfer& each : overlap.leaving) begin_to_leave(each);
  SampleClock::Sample sample;  // of all ranges together
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < overlap.ranges.size(); ++r) {
    for (const Overlap::OverlappedTransfer& each : overlap.coming)
      if (!take_parts(each, each.parts[r], here, waited)) return false;
    if (!run_range(call, here, begin, overlap.ranges[r], sample)) return false;
    begin = overlap.ranges[r].end;
    for (const Overlap::OverlappedTransfer& each : overlap.leaving) give_parts(each, each.parts[r]);
  }
  for (const Overlap::OverlappedTransfer& each : overlap.coming)
    if (!take_rest(each, here, waited)) return false;
  if (options_.observe) observe(here.node, sample);
  return true;
}

bool HostSide::run_range(const KernelCall& call, const Origin& here, std::int64_t begin, const Overlap::Range& range,
                         SampleClock::Sample& sample) {
  if (run_->stops(here.position)) return false;
  const RunState::Executing executing(*run_, here.position, here.node);
  if (options_.observe) sample_clock_.begin();
  const Status status = run_guarded(*operations_[here.node].kernel, call, begin, range.end);
  if (!status) return fail(here, status.error());
  if (options_.observe) {
    const SampleClock::Sample part = sample_clock_.end();
    sample.seconds += part.seconds;
    sample.preempted = sample.preempted || part.preempted;
  }
  now_ += prepared_.costs.host_seconds[here.node] * range.share;
  return true;
}

/// Whether the operation after the receive takes the value, chunk by chunk.
bool HostSide::take_later(const Step& step, Ring::Slot& slot) {
  if (!prepared_.read_in_parts[step.channel] || slot.arrived.empty() || options_.verify) return false;
  if (outputs_.listening() && outputs_.has(step.value)) return false;  // a listener wants the whole value now
  storage_.keep(step.channel, slot);
  progress_[step.channel].slot = &slot;
  progress_[step.channel].parts = 0;
  return true;
}

bool HostSide::take_parts(const Overlap::OverlappedTransfer& of, std::size_t until, const Origin& here, double& waited) {
  TransferProgress& progress = progress_[of.channel];
  if (!progress.slot) return true;  // the value came as one
  const Ring::Slot& slot = *progress.slot;
  const Origin for_value{graph_.values[of.value].producer, here.position};
  for (; progress.parts < until; ++progress.parts) {
    const double start = track_.on() ? time() : 0;
    const Event event = progress.parts < slot.arrived.size() ? slot.arrived[progress.parts] : slot.ready.event;
    if (!await(prepared_.channel(of.channel).from, event, for_value)) return false;
    if (virtual_time_) now_ = std::max(now_, slot.time_of(progress.parts));
    if (track_.on()) waited += time() - start;
    const Range part = prepared_.part(progress.parts, bytes_of(of.value));
    if (data(of.value) != slot.at) std::memcpy(data(of.value) + part.offset, slot.at + part.offset, static_cast<std::size_t>(part.bytes));
  }
  return true;
}

/// Takes the remaining chunks, also those that the operation does not read. Then the slot is free, unless the value stays there.
bool HostSide::take_rest(const Overlap::OverlappedTransfer& of, const Origin& here, double& waited) {
  TransferProgress& progress = progress_[of.channel];
  if (!take_parts(of, prepared_.parts(bytes_of(of.value)), here, waited)) return false;
  Ring::Slot* const slot = std::exchange(progress.slot, nullptr);
  if (!slot) return true;
  slot->free = {{}, now_};
  if (data(of.value) != slot->at) prepared_.ring(of.channel).release(*run_);
  return true;
}

/// Computes the value in the next slot, if that is free by now. It does not wait for the slot, since the slot may depend on values sent
/// after this one.
void HostSide::begin_to_leave(const Overlap::OverlappedTransfer& of) {
  TransferProgress& progress = progress_[of.channel];
  progress.begun = now_;
  progress.made.clear();
  progress.parts = 0;
  Ring& ring = prepared_.ring(of.channel);
  Ring::Slot* const slot = ring.spare(*run_);
  if (!slot || !prepared_.devices[prepared_.channel(of.channel).to]->streams().passed(slot->free.event)) return;
  progress.slot = slot;
  progress.free = slot->free.time;
  slot->at = slot->data;
  slot->in_parts = true;
  slot->staged = 0;
  ring.publish(*run_);
}

void HostSide::give_parts(const Overlap::OverlappedTransfer& of, std::size_t until) {
  TransferProgress& progress = progress_[of.channel];
  const std::int64_t bytes = bytes_of(of.value);
  const std::size_t parts = prepared_.parts(bytes);
  for (; progress.parts < until; ++progress.parts) {
    const bool last = progress.parts + 1 == parts;
    if (!last) progress.made.push_back(now_);
    if (last) progress.end = now_;
    if (!progress.slot) continue;
    if (last) tell_times(progress, *progress.slot);
    const Range part = prepared_.part(progress.parts, bytes);
    std::byte* const to = progress.slot->data;
    if (data(of.value) != to) std::memcpy(to + part.offset, data(of.value) + part.offset, static_cast<std::size_t>(part.bytes));
    Ring::stage(*run_, *progress.slot);
  }
}

/// Virtual: chunks leave as they are made if their slot was free when the first one was begun; else all leave when the slot is free.
void HostSide::tell_times(const TransferProgress& progress, Ring::Slot& slot) {
  slot.ready = {{}, std::max(progress.end, progress.free)};
  slot.times.clear();
  if (progress.free <= progress.begun) slot.times = progress.made;
}

}  // namespace cleave::runtime
