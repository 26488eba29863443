#include "executor/run/transport/peer_transport.h"

#include <utility>

#include "executor/device/peer_copies.h"
#include "graph/base/check.h"

namespace cleave::runtime {

PeerTransport::PeerTransport(std::vector<TransferredValue> values, DeviceId from, Device& source, Device& target, int capacity)
    : Transport(std::move(values)), from_(from), source_(source), target_(target), slots_(static_cast<std::size_t>(capacity)) {
  CLEAVE_CHECK(!slots_.empty(), "a channel needs room for one generation");
}

void PeerTransport::place(DeviceId end, std::vector<Load> loads) {
  (end == from_ ? source_loads_ : target_loads_) = std::move(loads);
}

void PeerTransport::reset(const RunOptions& /*options*/, const CallerMemory& /*memory*/) {
  sent_ = taken_ = 0;
  for (Slot& each : slots_) each = {};
}

bool PeerTransport::device_step(CommandQueue& queue, const Origin& here) {
  return queue.id() == from_ ? send(queue, here) : receive(queue, here);
}

bool PeerTransport::send(CommandQueue& queue, const Origin& here) {
  RunState& run = queue.run();
  if (run.wait(queue.id(), here, [&] { return sent_ - taken_ < slots_.size(); }) != RunState::Waited::ready) return false;
  const std::uint64_t number = sent_;  // only this thread changes it
  if (number >= slots_.size() && !queue.settle(*this, number - slots_.size(), here)) return false;
  Slot& next = slot(number);
  next.load = &source_loads_[static_cast<std::size_t>(queue.rotation.turn)];
  const std::optional<Point> ready = queue.available(next.load->storages, here);
  if (!ready) return false;
  next.ready = *ready;
  queue.lend(next.load->storages, *this, number);
  run.update([&] { ++sent_; });
  return true;
}

bool PeerTransport::receive(CommandQueue& queue, const Origin& here) {
  RunState& run = queue.run();
  const RunState::Clock::time_point asked = queue.measured().now();
  if (run.wait(queue.id(), here, [&] { return sent_ > taken_; }) != RunState::Waited::ready) return false;
  Slot& next = slot(taken_);
  if (!await(queue, source_.streams(), next.ready.event, here)) return false;
  queue.measured().waited(here.node, asked);
  queue.wait_until(next.ready.time, queue.clock().ready(Stream::compute), here.node);
  const Load& from = *next.load;
  const Load& to = target_loads_[static_cast<std::size_t>(queue.rotation.turn)];
  const auto copy = [&]() -> Status {
    for (std::size_t i = 0; i < to.ranges.size(); ++i) {
      const Status copied = target_.peer_copies()->copy_from(to.ranges[i].range, source_, from.ranges[i].range, here);
      if (!copied) return copied;
    }
    return {};
  };
  const std::optional<Point> done = queue.put(Stream::to_device, {{}, to.storages, seconds()}, note(here), here, copy);
  if (!done) return false;
  next.done = *done;
  run.update([&] { ++taken_; });
  count(queue, Stream::to_device);
  return true;
}

bool PeerTransport::await_return(CommandQueue& queue, std::uint64_t generation, const Origin& here) {
  if (queue.run().wait(queue.id(), here, [&] { return taken_ > generation; }) != RunState::Waited::ready) return false;
  const Point done = slot(generation).done;
  if (!await(queue, target_.streams(), done.event, here)) return false;
  queue.clock().wait_until(done.time);
  return true;
}

bool PeerTransport::await(CommandQueue& queue, Streams& other, const Event& event, const Origin& here) {
  if (event.sequence == 0) return true;
  queue.run().set_waiting(queue.id(), here.node);
  const Status status = other.synchronize(event);
  queue.run().clear_waiting(queue.id());
  return status.ok() || queue.fail(here, status.error());
}

}  // namespace cleave::runtime
