#include "executor/run/transport/chunks_to_host.h"

#include <cstring>

namespace cleave::runtime {

void ChunksToHost::reset(const RunOptions& options, const CallerMemory& memory) {
  RingToHost::reset(options, memory);
  const bool wanted_at_once = use().output && options.on_output;
  later_ = use().while_arriving && !options.verify && !wanted_at_once;
  slot_ = nullptr;
  taken_ = 0;
}

/// Copies into the caller's memory in one go, since single chunks are not read there.
bool ChunksToHost::device_step(CommandQueue& queue, const Origin& here) {
  if (target()) return RingToHost::device_step(queue, here);
  Ring::Slot* const slot = ring().next(queue.run(), queue.id(), here);
  if (!slot) return false;
  queue.clock().wait_until(slot->free.time);
  const Load& from = load(queue);
  const std::int64_t offset = from.ranges.front().range.offset;
  slot->arrived.clear();
  const std::optional<Point> done = queue.put(Stream::to_host, {from.storages, {}, seconds()}, note(here), here, [&]() -> Status {
    for (std::size_t i = 0; i < chunks_.count(bytes()); ++i) {
      if (i > 0) slot->arrived.push_back(device().streams().record(Stream::to_host));
      const Range chunk = chunks_.range(i, bytes());
      if (Status status = device().copy_to_host(slot->data + chunk.offset, {offset + chunk.offset, chunk.bytes}, here); !status)
        return status;
    }
    return {};
  });
  if (!done) return false;
  slot->ready = *done;
  tell_times(*slot, queue.clock().last());
  slot->at = slot->data;
  ring().publish(queue.run());
  count(queue, Stream::to_host);
  return true;
}

/// Virtual: chunks arrive evenly while the value is copied.
void ChunksToHost::tell_times(Ring::Slot& slot, const VirtualClock::Interval& copy) const {
  slot.times.clear();
  for (std::size_t i = 0; i < slot.arrived.size(); ++i) {
    const double there = static_cast<double>((static_cast<std::int64_t>(i) + 1) * chunks_.size);
    slot.times.push_back(copy.begin + seconds() * there / static_cast<double>(bytes()));
  }
}

bool ChunksToHost::host_step(HostEnd& host, const Origin& here) {
  const double mark = host.clock.mark();
  Ring::Slot* const slot = take(host, here);
  if (!slot) return false;
  if (later_ && !slot->arrived.empty()) {
    keep(host, *slot);
    slot_ = slot;
    taken_ = 0;
    host.clock.waited(mark, here.node);
    return true;
  }
  std::byte* const to = host.storage.of(values().front().value);
  const bool stays = use().in_slot && slot->at == slot->data;
  std::int64_t taken = 0;
  for (std::size_t i = 0; !stays && i < slot->arrived.size(); ++i) {
    if (!host.await(device().streams(), slot->arrived[i], here)) return false;
    const Range chunk = chunks_.range(i, bytes());
    std::memcpy(to + chunk.offset, slot->at + chunk.offset, static_cast<std::size_t>(chunk.bytes));
    taken = chunk.offset + chunk.bytes;
  }
  if (!host.await(device().streams(), slot->ready, here)) return false;
  host.clock.waited(mark, here.node);
  slot->free = {{}, host.clock.now()};
  if (keep(host, *slot)) return true;
  if (!leave_with_caller(host))
    std::memcpy(host.storage.of(values().front().value) + taken, slot->at + taken, static_cast<std::size_t>(bytes() - taken));
  ring().release(host.run());
  return true;
}

bool ChunksToHost::take_chunks(HostEnd& host, std::size_t until, const Origin& here, double& waited) {
  if (!slot_) return true;  // the value came as one
  std::byte* const to = host.storage.of(values().front().value);
  const Origin for_value{values().front().producer, here.position};
  for (; taken_ < until; ++taken_) {
    const double mark = host.clock.mark();
    const Event event = taken_ < slot_->arrived.size() ? slot_->arrived[taken_] : slot_->ready.event;
    if (!host.await(device().streams(), event, for_value)) return false;
    host.clock.catch_up(slot_->time_of(taken_));
    waited += host.clock.mark() - mark;
    const Range chunk = chunks_.range(taken_, bytes());
    if (to != slot_->at) std::memcpy(to + chunk.offset, slot_->at + chunk.offset, static_cast<std::size_t>(chunk.bytes));
  }
  return true;
}

bool ChunksToHost::take_rest(HostEnd& host, const Origin& here, double& waited) {
  if (!take_chunks(host, chunks_.count(bytes()), here, waited)) return false;
  Ring::Slot* const slot = std::exchange(slot_, nullptr);
  if (!slot) return true;
  slot->free = {{}, host.clock.now()};
  if (host.storage.of(values().front().value) != slot->at) ring().release(host.run());
  return true;
}

}  // namespace cleave::runtime
