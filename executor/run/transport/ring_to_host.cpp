#include "executor/run/transport/ring_to_host.h"

namespace cleave::runtime {
namespace {

Status copy_to_host(Device& device, std::byte* to, const Transport::Load& from, const Origin& here) {
  if (from.pieces) return device.coalesced_copies()->copy_to_host(to, from.pieces, here);
  for (const Piece& piece : from.ranges)
    if (Status status = device.copy_to_host(to + piece.offset, piece.range, here); !status) return status;
  return {};
}

}  // namespace

void RingToHost::reset(const RunOptions& /*options*/, const CallerMemory& memory) {
  ring_.reset();
  held_ = false;
  target_ = use_.in_place ? memory.target(values().front().value) : nullptr;
}

bool RingToHost::device_step(CommandQueue& queue, const Origin& here) {
  Ring::Slot* const slot = ring_.next(queue.run(), queue.id(), here);
  if (!slot) return false;
  queue.clock().wait_until(slot->free.time);
  const Load& from = load(queue);
  std::byte* const to = target_ ? writable(*target_) : slot->data;
  const std::optional<Point> done =
      queue.put(Stream::to_host, {from.storages, {}, seconds()}, note(here), here, [&] { return copy_to_host(device_, to, from, here); });
  if (!done) return false;
  slot->ready = *done;
  slot->at = to;
  ring_.publish(queue.run());
  count(queue, Stream::to_host);
  return true;
}

bool RingToHost::host_step(HostEnd& host, const Origin& here) {
  const double mark = host.clock.mark();
  Ring::Slot* const slot = take(host, here);
  if (!slot || !host.await(device_.streams(), slot->ready, here)) return false;
  host.clock.waited(mark, here.node);
  slot->free = {{}, host.clock.now()};
  if (keep(host, *slot)) return true;
  if (!leave_with_caller(host)) unpack(host.storage, slot->at);
  ring_.release(host.run());
  return true;
}

const std::byte* RingToHost::first(RunState& run, const Origin& here) {
  const Ring::Slot* const slot = ring_.first(run, here);
  // A poisoned event is an error that the host reports.
  return slot && device_.streams().synchronize(slot->ready.event) ? slot->at : nullptr;
}

Ring::Slot* RingToHost::take(HostEnd& host, const Origin& here) {
  if (std::exchange(held_, false)) ring_.release(host.run());
  return ring_.front(host.run(), kHost, here);
}

bool RingToHost::keep(HostEnd& host, const Ring::Slot& slot) {
  if (!use_.in_slot) return false;
  held_ = slot.at == slot.data;
  host.storage.move(values().front().value, held_ ? slot.data : nullptr);
  return held_;
}

bool RingToHost::leave_with_caller(HostEnd& host) const {
  const bool there = target_ && !use_.read;
  if (there) host.in_caller_memory.insert(values().front().value);
  return there;
}

}  // namespace cleave::runtime
