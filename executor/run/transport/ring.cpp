#include "executor/run/transport/ring.h"

namespace cleave::runtime {

Ring::Ring(const std::vector<std::byte*>& slots) {
  CLEAVE_CHECK(!slots.empty(), "a channel needs room for one generation");
  for (std::byte* data : slots) slots_.push_back({data, nullptr, {}, {}, false, 0, {}, {}});
}

Ring::Slot* Ring::next(RunState& run, DeviceId who, const Origin& origin) {
  auto waited = run.wait(who, origin, [&] { return sent_ - taken_ < slots_.size(); });
  return waited == RunState::Waited::ready ? &slots_[sent_ % slots_.size()] : nullptr;
}

Ring::Slot* Ring::spare(RunState& run, Streams& device) {
  if (!run.look([&] { return sent_ - taken_ < slots_.size(); })) return nullptr;
  Slot* const slot = &slots_[sent_ % slots_.size()];
  return device.passed(slot->free.event) ? slot : nullptr;
}

void Ring::publish(RunState& run) {
  run.update([&] { ++sent_; });
}

Ring::Slot* Ring::front(RunState& run, DeviceId who, const Origin& origin) {
  auto waited = run.wait(who, origin, [&] { return sent_ > taken_; });
  return waited == RunState::Waited::ready ? &slots_[taken_ % slots_.size()] : nullptr;
}

void Ring::release(RunState& run) {
  run.update([&] { ++taken_; });
}

void Ring::stage(RunState& run, Slot& slot) {
  run.update([&] { ++slot.staged; });
}

bool Ring::wait_for_part(RunState& run, DeviceId who, const Origin& origin, const Slot& slot, std::size_t part) {
  return run.wait(who, origin, [&] { return slot.staged > part; }) == RunState::Waited::ready;
}

const Ring::Slot* Ring::first(RunState& run, const Origin& origin) {
  auto waited = run.wait(DeviceId(), origin, [&] { return sent_ > 0; });
  return waited == RunState::Waited::ready ? slots_.data() : nullptr;
}

void Ring::reset() {
  sent_ = taken_ = 0;
  for (Slot& slot : slots_) {
    slot.at = nullptr;
    slot.ready = slot.free = {};
    slot.in_parts = false;
    slot.arrived.clear();
    slot.times.clear();
  }
}

}  // namespace cleave::runtime
