// DeviceSide, part: transfers to and from an accelerator: by its copy engines, in chunks if the value is large, or through mailboxes.
#include <algorithm>

#include "executor/device/mailboxes.h"
#include "executor/run/driver/device_side.h"

namespace cleave::runtime {

/// Each value of a coalesced transfer gets its share of the time.
void DeviceSide::note_copies(const Step& step, TransferCount& count, Stream stream) {
  double begin = begun_;
  for (const ChannelId each : travelling_with(*prepared_.program, step.channel)) {
    const ValueId value = prepared_.channel(each).value;
    const std::int64_t bytes = range(storage(value)).bytes;
    const double end = begin + prepared_.costs.channel_seconds[each];
    if (end > begin && prepared_.virtual_time)
      track_.add({TimelineEvent::What::transfer, id_, graph_.values[value].producer, begin, end, bytes, lane_of(stream), {}});
    begin = end;
    ++count.count;
    count.bytes += bytes;
  }
}

Status DeviceSide::copy(const Travelling& to, const std::byte* from, const Origin& here) {
  if (to.pieces) return device_.coalesced_copies()->copy_to_device(to.pieces, from, here);
  for (const Piece& piece : to.ranges)
    if (Status status = device_.copy_to_device(piece.range, from + piece.offset, here); !status) return status;
  return {};
}

Status DeviceSide::copy(std::byte* to, const Travelling& from, const Origin& here) {
  if (from.pieces) return device_.coalesced_copies()->copy_to_host(to, from.pieces, here);
  for (const Piece& piece : from.ranges)
    if (Status status = device_.copy_to_host(to + piece.offset, piece.range, here); !status) return status;
  return {};
}

/// Copies each chunk as soon as the host has staged it. If an operation processes the value while it arrives, records an event for each of
/// its launches.
Status DeviceSide::copy_in_parts(const Range& to, const Ring::Slot& slot, Arrivals& arrivals, const Origin& here, bool& stopped) {
  const bool watched = !arrivals.parts.empty();
  if (!slot.in_parts && !watched) return device_.copy_to_device(to, slot.at, here);
  std::size_t launch = 0;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < prepared_.parts(to.bytes); ++i) {
    if (slot.in_parts) stopped = !Ring::wait_for_part(*run_, id_, here, slot, i);
    if (stopped) return {};
    const bool awaited = watched && arrivals.parts[launch] == i + 1;
    if (!slot.in_parts && !awaited) continue;
    const Range part = prepared_.part(i, to.bytes);
    const std::int64_t end = part.offset + part.bytes;
    if (Status status = device_.copy_to_device({to.offset + begin, end - begin}, slot.at + begin, here); !status) return status;
    begin = end;
    for (; watched && launch < arrivals.parts.size() && arrivals.parts[launch] == i + 1; ++launch)
      arrivals.there[launch] = streams_.record(Stream::to_device);
  }
  if (slot.in_parts) follow_parts(slot, to.bytes);
  return {};
}

/// Virtual: records when the chunks of the last command arrive, which was one copy.
void DeviceSide::note_arrivals(ChannelId channel) {
  Arrivals& arrivals = arrivals_[channel];
  const auto bytes = static_cast<double>(graph_.values[prepared_.channel(channel).value].type.bytes());
  for (std::size_t k = 0; k < arrivals.parts.size(); ++k) {
    const double there = static_cast<double>(arrivals.parts[k]) * static_cast<double>(prepared_.part_bytes);
    arrivals.times[k] = begun_ + (ends_ - begun_) * std::min(there / bytes, 1.0);
  }
}

/// Virtual: times the chunks of the last command, all staged by now, as copies one after the other, each once its chunk was staged.
void DeviceSide::follow_parts(const Ring::Slot& slot, std::int64_t bytes) {
  const double seconds = ends_ - begun_;
  ends_ = slot.times.empty() ? std::max(begun_, slot.ready.time) + seconds : begun_;
  for (std::size_t i = 0; i < prepared_.parts(bytes) && !slot.times.empty(); ++i) {
    const double share = static_cast<double>(prepared_.part(i, bytes).bytes) / static_cast<double>(bytes);
    ends_ = std::max(ends_, slot.time_of(i)) + seconds * share;
  }
  begun_ = ends_ - seconds;  // as if copied in one go
}

/// Copies chunk by chunk; the host fetches each chunk as soon as it has arrived.
Status DeviceSide::copy_in_parts(Ring::Slot& slot, const Range& from, const Origin& here) {
  for (std::size_t i = 0; i < prepared_.parts(from.bytes); ++i) {
    if (i > 0) slot.arrived.push_back(streams_.record(Stream::to_host));
    const Range part = prepared_.part(i, from.bytes);
    if (Status status = device_.copy_to_host(slot.data + part.offset, {from.offset + part.offset, part.bytes}, here); !status)
      return status;
  }
  return {};
}

/// The first step of a coalesced transfer transfers all of its values.
bool DeviceSide::receive(const Step& step, const Origin& here) {
  if (follows(*prepared_.program, step.channel)) return true;
  if (std::optional<Exchange>& exchange = prepared_.exchanges[step.channel]) return take(*exchange, step, here);
  Ring& ring = prepared_.ring(step.channel);
  const RunState::Clock::time_point asked = measured_.now();
  Ring::Slot* slot = ring.front(*run_, id_, here);
  if (!slot) return false;
  measured_.waited(here.node, asked);
  double before = std::max(driver_, clock_[0]);
  const bool in_parts = slot->in_parts;  // then the times at which chunks arrive are not known yet
  if (!in_parts) driver_ = std::max(driver_, slot->ready.time);
  const Travelling& all = turn().travelling[step.channel];
  bool stopped = false;
  std::optional<Point> point = put(Stream::to_device, {{}, all.storages, all.seconds}, crossed(step), here, [&]() -> Status {
    if (prepared_.channel(step.channel).coalesced) return copy(all, slot->at, here);
    return copy_in_parts(range(all.storages[0]), *slot, arrivals_[step.channel], here, stopped);
  });
  if (!point || stopped) return false;
  driver_ = std::max(driver_, slot->ready.time);
  if (driver_ > before && prepared_.virtual_time) track_.add(TimelineEvent::What::wait, id_, here.node, before, driver_);
  slot->free = *point;
  ring.release(*run_);
  note_arrivals(step.channel);
  note_copies(step, received_, Stream::to_device);
  return true;
}

bool DeviceSide::take(Exchange& exchange, const Step& step, const Origin& here) {
  Mailboxes& mailboxes = *device_.mailboxes();
  const std::uint64_t number = exchange.next_of_device();
  const Travelling& all = turn().travelling[step.channel];
  const auto enqueue = [&] {
    const Delivery delivery{exchange.slot(number), exchange.mailbox(), number, number};
    return all.pieces ? mailboxes.take(all.pieces, delivery, here) : mailboxes.take(transferred_range(step), delivery, here);
  };
  if (!put(Stream::compute, {{}, all.storages, 0}, crossed(step), here, enqueue)) return false;
  host_reached_ = exchange.of_host(here.position);
  note_copies(step, received_, Stream::compute);
  return true;
}

bool DeviceSide::give(Exchange& exchange, const Step& step, const Origin& here) {
  Mailboxes& mailboxes = *device_.mailboxes();
  const std::uint64_t number = exchange.next_of_device();
  const Travelling& all = turn().travelling[step.channel];
  // A value that the compute stream has taken since was sent after the host took this slot's last value, so the slot is free by now.
  const bool free = exchange.place(number) < host_reached_;
  exchange.place(number) = exchange.of_host(here.position);
  const auto enqueue = [&] {
    const Delivery delivery{exchange.slot(number), exchange.mailbox(), number, free ? 0 : exchange.before(number)};
    return all.pieces ? mailboxes.give(all.pieces, delivery, here) : mailboxes.give(transferred_range(step), delivery, here);
  };
  if (!put(Stream::compute, {all.storages, {}, 0}, crossed(step), here, enqueue)) return false;
  note_copies(step, sent_, Stream::compute);
  return true;
}

/// The description of a send or receive on a timeline.
MeasuredTrack::Note DeviceSide::crossed(const Step& step) {
  return {TimelineEvent::What::transfer, step.node, step.channel, {}};
}

/// The arena range of the value of a send or receive.
Range DeviceSide::transferred_range(const Step& step) const {
  return {range(now_at(storage(step.value))).offset, graph_.values[step.value].type.bytes()};
}

bool DeviceSide::send(const Step& step, const Origin& here) {
  if (follows(*prepared_.program, step.channel)) return true;
  if (std::optional<Exchange>& exchange = prepared_.exchanges[step.channel]) return give(*exchange, step, here);
  Ring& ring = prepared_.ring(step.channel);
  Ring::Slot* slot = ring.next(*run_, id_, here);
  if (!slot) return false;
  driver_ = std::max(driver_, slot->free.time);
  const Travelling& all = turn().travelling[step.channel];
  const bool at_root = prepared_.channel(step.channel).region == Graph::kRoot;  // in a loop, a later trip may overtake it
  const bool coalesced = prepared_.channel(step.channel).coalesced.valid();
  const Array* given = at_root && !coalesced ? prepared_.caller_memory.target(step.value) : nullptr;
  std::byte* to = given ? writable(*given) : slot->data;
  slot->arrived.clear();
  std::optional<Point> point = put(Stream::to_host, {all.storages, {}, all.seconds}, crossed(step), here, [&]() -> Status {
    if (coalesced) return copy(to, all, here);
    if (given) return device_.copy_to_host(to, range(all.storages[0]), here);
    if (prepared_.read_in_slot[step.channel] && !prepared_.read_in_parts[step.channel])
      return device_.copy_to_host(to, range(all.storages[0]), here);
    return copy_in_parts(*slot, range(all.storages[0]), here);
  });
  if (!point) return false;
  slot->ready = *point;
  slot->times.clear();
  for (std::size_t i = 0; i < slot->arrived.size(); ++i) {
    const double there = static_cast<double>((static_cast<std::int64_t>(i) + 1) * prepared_.part_bytes);
    slot->times.push_back(begun_ + all.seconds * there / static_cast<double>(range(all.storages[0]).bytes));
  }
  slot->at = to;
  ring.publish(*run_);
  note_copies(step, sent_, Stream::to_host);
  return true;
}

}  // namespace cleave::runtime
