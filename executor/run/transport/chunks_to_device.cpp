#include "executor/run/transport/chunks_to_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cleave::runtime {

ChunksToDevice::ChunksToDevice(std::vector<TransferredValue> values, Ring ring, Device& device, Chunks chunks)
    : RingToDevice(std::move(values), std::move(ring), device), chunks_(chunks) {
  made_.reserve(chunks_.count(bytes()));
}

void ChunksToDevice::reset(const RunOptions& options, const CallerMemory& memory) {
  RingToDevice::reset(options, memory);
  slot_ = nullptr;
  given_ = 0;
}

void ChunksToDevice::watch(std::vector<std::size_t> chunks) {
  watched_ = std::move(chunks);
  arrivals_.resize(watched_.size());
}

bool ChunksToDevice::host_step(HostEnd& host, const Origin& here) {
  const std::size_t given = std::exchange(given_, 0);
  if (std::exchange(slot_, nullptr)) return host.await(device().streams(), Point{{}, free_}, here);  // the value has left already
  Ring::Slot* const slot = ring().next(host.run(), kHost, here);
  if (!slot || !host.await(device().streams(), slot->free, here)) return false;
  slot->ready = {{}, host.clock.now()};
  slot->times.clear();
  free_ = slot->free.time;
  if (given > 0) tell_times(*slot);
  const bool there = source() || host.storage.of(values().front().value) == slot->data;
  slot->at = source() ? source() : slot->data;
  slot->in_parts = !there;
  slot->staged = 0;
  ring().publish(host.run());
  if (!there) stage(host, *slot);
  return true;
}

/// The slot is published: the device copies one chunk while the next is staged.
void ChunksToDevice::stage(HostEnd& host, Ring::Slot& slot) {
  const std::byte* const from = host.storage.of(values().front().value);
  for (std::size_t i = 0; i < chunks_.count(bytes()); ++i) {
    const Range chunk = chunks_.range(i, bytes());
    std::memcpy(slot.data + chunk.offset, from + chunk.offset, static_cast<std::size_t>(chunk.bytes));
    Ring::stage(host.run(), slot);
  }
}

void ChunksToDevice::begin_value(HostEnd& host) {
  begun_ = host.clock.now();
  made_.clear();
  given_ = 0;
  Ring::Slot* const slot = ring().spare(host.run(), device().streams());
  if (!slot) return;
  slot_ = slot;
  free_ = slot->free.time;
  slot->at = slot->data;
  slot->in_parts = true;
  slot->staged = 0;
  ring().publish(host.run());
}

void ChunksToDevice::give(HostEnd& host, std::size_t until) {
  const std::byte* const from = host.storage.of(values().front().value);
  for (; given_ < until; ++given_) {
    const bool last = given_ + 1 == chunks_.count(bytes());
    if (!last) made_.push_back(host.clock.now());
    if (last) end_ = host.clock.now();
    if (!slot_) continue;
    if (last) tell_times(*slot_);
    const Range chunk = chunks_.range(given_, bytes());
    if (from != slot_->data) std::memcpy(slot_->data + chunk.offset, from + chunk.offset, static_cast<std::size_t>(chunk.bytes));
    Ring::stage(host.run(), *slot_);
  }
}

/// Virtual: chunks leave as they are made if their slot was free when the first one was begun; else all leave when the slot is free.
void ChunksToDevice::tell_times(Ring::Slot& slot) const {
  slot.ready = {{}, std::max(end_, free_)};
  slot.times.clear();
  if (free_ <= begun_) slot.times = made_;
}

bool ChunksToDevice::device_step(CommandQueue& queue, const Origin& here) {
  const RunState::Clock::time_point asked = queue.measured().now();
  Ring::Slot* const slot = ring().front(queue.run(), queue.id(), here);
  if (!slot) return false;
  queue.measured().waited(here.node, asked);
  const double before = queue.clock().ready(Stream::compute);
  if (!slot->in_parts) queue.clock().wait_until(slot->ready.time);  // else the times at which chunks arrive are not known yet
  const Load& to = load(queue);
  bool stopped = false;
  const std::optional<Point> done = queue.put(Stream::to_device, {{}, to.storages, seconds()}, note(here), here,
                                              [&] { return copy(queue, *slot, to.ranges.front().range, here, stopped); });
  if (!done || stopped) return false;
  queue.wait_until(slot->ready.time, before, here.node);
  slot->free = *done;
  ring().release(queue.run());
  note_arrivals(queue.clock());
  count(queue, Stream::to_device);
  return true;
}

/// Copies each chunk as soon as the host has staged it. If an operation processes the value while it arrives, records an event for each of
/// its launches.
Status ChunksToDevice::copy(CommandQueue& queue, const Ring::Slot& slot, const Range& to, const Origin& here, bool& stopped) {
  if (!slot.in_parts && watched_.empty()) return device().copy_to_device(to, slot.at, here);
  std::size_t launch = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < chunks_.count(to.bytes); ++i) {
    if (slot.in_parts) stopped = !Ring::wait_for_part(queue.run(), queue.id(), here, slot, i);
    if (stopped) return {};
    const bool awaited = launch < watched_.size() && watched_[launch] == i + 1;
    if (!slot.in_parts && !awaited) continue;
    const Range chunk = chunks_.range(i, to.bytes);
    const std::int64_t end = chunk.offset + chunk.bytes;
    if (Status status = device().copy_to_device({to.offset + begin, end - begin}, slot.at + begin, here); !status) return status;
    begin = end;
    for (; launch < watched_.size() && watched_[launch] == i + 1; ++launch)
      arrivals_[launch].event = device().streams().record(Stream::to_device);
  }
  if (slot.in_parts) follow_chunks(queue.clock(), slot);
  return {};
}

/// Virtual: records when the chunks of the last command arrive, which was one copy.
void ChunksToDevice::note_arrivals(const VirtualClock& clock) {
  const auto& [begin, end] = clock.last();
  for (std::size_t k = 0; k < watched_.size(); ++k) {
    const double there = static_cast<double>(watched_[k]) * static_cast<double>(chunks_.size);
    arrivals_[k].time = begin + (end - begin) * std::min(there / static_cast<double>(bytes()), 1.0);
  }
}

/// Virtual: times the chunks of the last command, all staged by now, as copies one after the other, each once its chunk was staged.
void ChunksToDevice::follow_chunks(VirtualClock& clock, const Ring::Slot& slot) const {
  const auto [begin, expected] = clock.last();
  const double seconds = expected - begin;
  double end = slot.times.empty() ? std::max(begin, slot.ready.time) + seconds : begin;
  for (std::size_t i = 0; i < chunks_.count(bytes()) && !slot.times.empty(); ++i) {
    const double share = static_cast<double>(chunks_.range(i, bytes()).bytes) / static_cast<double>(bytes());
    end = std::max(end, slot.time_of(i)) + seconds * share;
  }
  clock.correct({end - seconds, end});  // as if copied in one go
}

}  // namespace cleave::runtime
