#include "executor/run/transport/ring_to_device.h"

namespace cleave::runtime {
namespace {

Status copy_to_device(Device& device, const Transport::Load& to, const std::byte* from, const Origin& here) {
  if (to.pieces) return device.coalesced_copies()->copy_to_device(to.pieces, from, here);
  for (const Piece& piece : to.ranges)
    if (Status status = device.copy_to_device(piece.range, from + piece.offset, here); !status) return status;
  return {};
}

}  // namespace

void RingToDevice::reset(const RunOptions& /*options*/, const CallerMemory& memory) {
  ring_.reset();
  source_ = values().size() == 1 ? memory.source(values().front().value) : nullptr;
}

void RingToDevice::place_result(HostEnd& host) {
  const Ring::Slot* const slot = ring_.spare(host.run(), device_.streams());
  host.storage.move(values().front().value, slot ? slot->data : nullptr);
}

bool RingToDevice::wait_for_slot(HostEnd& host, const Origin& here) {
  const Ring::Slot* const slot = ring_.next(host.run(), kHost, here);
  return slot && host.await(device_.streams(), slot->free.event, here);
}

bool RingToDevice::host_step(HostEnd& host, const Origin& here) {
  Ring::Slot* const slot = ring_.next(host.run(), kHost, here);
  if (!slot || !host.await(device_.streams(), slot->free, here)) return false;
  slot->ready = {{}, host.clock.now()};
  slot->at = source_ ? source_ : slot->data;
  if (!source_) pack(host.storage, slot->data);
  ring_.publish(host.run());
  return true;
}

bool RingToDevice::device_step(CommandQueue& queue, const Origin& here) {
  const RunState::Clock::time_point asked = queue.measured().now();
  Ring::Slot* const slot = ring_.front(queue.run(), queue.id(), here);
  if (!slot) return false;
  queue.measured().waited(here.node, asked);
  queue.wait_until(slot->ready.time, queue.clock().ready(Stream::compute), here.node);
  const Load& to = load(queue);
  const std::optional<Point> done = queue.put(Stream::to_device, {{}, to.storages, seconds()}, note(here), here,
                                              [&] { return copy_to_device(device_, to, slot->at, here); });
  if (!done) return false;
  slot->free = *done;
  ring_.release(queue.run());
  count(queue, Stream::to_device);
  return true;
}

}  // namespace cleave::runtime
