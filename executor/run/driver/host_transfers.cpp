// HostSide, part: transfers to and from the host: through rings, in chunks if the value is large, or through mailboxes.
#include <cstring>
#include <utility>

#include "executor/device/mailboxes.h"
#include "executor/run/driver/host_side.h"

namespace cleave::runtime {

bool HostSide::await(DeviceId device, const Event& event, const Origin& here) {
  if (event.sequence == 0) return true;
  run_->set_waiting(kHost, here.node);
  const Status status = prepared_.devices[device]->streams().synchronize(event);
  run_->clear_waiting(kHost);
  return status.ok() || fail(here, status.error());
}

bool HostSide::synchronize(DeviceId device, const Point& point, const Origin& here) {
  if (!await(device, point.event, here)) return false;
  if (virtual_time_ && point.time > now_) {
    track_.add(TimelineEvent::What::wait, kHost, here.node, now_, point.time);
    now_ = point.time;
  }
  return true;
}

/// Waits until the device has announced `number` in the exchange's mailbox.
bool HostSide::await(const Exchange& exchange, DeviceId device, std::uint64_t number, const MailboxSlot* slot, const Origin& here) {
  const bool there = exchange.mailbox().heard() >= number;
  if (!there) run_->set_waiting(kHost, here.node);
  const Status status = prepared_.devices[device]->mailboxes()->await(exchange.mailbox(), number, slot,
                                                                      [&] { return run_->failed() && run_->stops(here.position); });
  if (!there) run_->clear_waiting(kHost);
  return status.ok() || fail(here, status.error());
}

bool HostSide::send(Exchange& exchange, const Step& step, const Origin& here) {
  const std::uint64_t number = exchange.next_of_host();
  if (!await(exchange, prepared_.channel(step.channel).to, exchange.before(number), nullptr, here)) return false;
  pack(step, exchange.slot(number).data);
  exchange.mailbox().tell(number);
  return true;
}

bool HostSide::take(Exchange& exchange, const Step& step, const Origin& here) {
  const double start = track_.on() ? time() : 0;
  const std::uint64_t number = exchange.next_of_host();
  const MailboxSlot& slot = exchange.slot(number);
  if (!await(exchange, prepared_.channel(step.channel).from, number, &slot, here)) return false;
  track_.add(TimelineEvent::What::wait, kHost, here.node, start, time());
  for (const ChannelId each : travelling_with(*prepared_.program, step.channel)) {
    const Channel& of = prepared_.channel(each);
    const auto bytes = static_cast<std::size_t>(bytes_of(of.value));
    if (bytes > 0) std::memcpy(data(of.value), slot.data + of.offset, bytes);
  }
  exchange.mailbox().tell(number);
  return true;
}

/// Copies the values of the step's coalesced transfer to `to`, side by side.
void HostSide::pack(const Step& step, std::byte* to) const {
  for (const ChannelId each : travelling_with(*prepared_.program, step.channel)) {
    const Channel& of = prepared_.channel(each);
    const auto bytes = static_cast<std::size_t>(bytes_of(of.value));
    if (bytes > 0) std::memcpy(to + of.offset, data(of.value), bytes);
  }
}

/// The first step of a coalesced transfer transfers all of its values.
bool HostSide::send(const Step& step, const Origin& here) {
  if (follows(*prepared_.program, step.channel)) return true;
  if (!settle_travelling(step.channel, false)) return false;
  if (std::optional<Exchange>& exchange = prepared_.exchanges[step.channel]) return send(*exchange, step, here);
  Ring& ring = prepared_.ring(step.channel);
  const Channel& channel = prepared_.channel(step.channel);
  TransferProgress& made = progress_[step.channel];
  const std::size_t parts_made = std::exchange(made.parts, 0);
  if (std::exchange(made.slot, nullptr)) return synchronize(channel.to, {{}, made.free}, here);  // the value has left already
  Ring::Slot* slot = ring.next(*run_, kHost, here);
  if (!slot || !synchronize(channel.to, slot->free, here)) return false;
  slot->ready = {{}, now_};
  slot->times.clear();
  made.free = slot->free.time;
  if (parts_made > 0) tell_times(made, *slot);
  const std::byte* given = channel.coalesced ? nullptr : prepared_.caller_memory.source(step.value);
  const bool there = given || (!channel.coalesced && data(step.value) == slot->data);
  slot->at = given ? given : slot->data;
  slot->in_parts = !there && !channel.coalesced && prepared_.parts(bytes_of(step.value)) > 1;
  if (slot->in_parts) {
    send_in_parts(ring, *slot, step.value);
    return true;
  }
  if (!there) pack(step, slot->data);
  ring.publish(*run_);
  return true;
}

/// Copies chunk by chunk: the device transfers one chunk while the next is copied into the slot.
void HostSide::send_in_parts(Ring& ring, Ring::Slot& slot, ValueId value) {
  slot.staged = 0;
  ring.publish(*run_);
  const std::int64_t bytes = bytes_of(value);
  const std::size_t parts = prepared_.parts(bytes);
  for (std::size_t i = 0; i < parts; ++i) {
    const Range part = prepared_.part(i, bytes);
    std::memcpy(slot.data + part.offset, data(value) + part.offset, static_cast<std::size_t>(part.bytes));
    Ring::stage(*run_, slot);
  }
}

bool HostSide::settle_travelling(ChannelId first, bool writes) {
  if (under_way_.empty()) return true;
  const std::span<const ChannelId> all = travelling_with(*prepared_.program, first);
  return std::all_of(all.begin(), all.end(), [&](ChannelId each) { return settle(prepared_.channel(each).value, writes); });
}

bool HostSide::receive(const Step& step, const Origin& here) {
  if (!follows(*prepared_.program, step.channel) && !settle_travelling(step.channel, true)) return false;
  if (!follows(*prepared_.program, step.channel) && !take(step, here)) return false;
  return hand_in(step.value, here);
}

/// Takes a received value: copies it out of its slot, or uses it there.
bool HostSide::take(const Step& step, const Origin& here) {
  if (std::optional<Exchange>& exchange = prepared_.exchanges[step.channel]) return take(*exchange, step, here);
  Ring& ring = prepared_.ring(step.channel);
  double start = track_.on() ? time() : 0;
  storage_.give_back(step.channel, *run_);
  Ring::Slot* slot = ring.front(*run_, kHost, here);
  if (slot && take_later(step, *slot)) {
    if (!virtual_time_) track_.add(TimelineEvent::What::wait, kHost, here.node, start, time());
    return true;
  }
  const Channel& channel = prepared_.channel(step.channel);
  std::int64_t taken = 0;  // bytes taken so far of a value that arrives in chunks
  const bool stays = slot && prepared_.read_in_slot[step.channel] && slot->at == slot->data;
  for (std::size_t i = 0; slot && !stays && i < slot->arrived.size(); ++i) {
    if (!synchronize(channel.from, {slot->arrived[i], 0}, here)) return false;
    const Range part = prepared_.part(i, bytes_of(step.value));
    std::memcpy(data(step.value) + part.offset, slot->at + part.offset, static_cast<std::size_t>(part.bytes));
    taken = part.offset + part.bytes;
  }
  if (!slot || !synchronize(channel.from, slot->ready, here)) return false;
  if (!virtual_time_) track_.add(TimelineEvent::What::wait, kHost, here.node, start, time());
  slot->free = {{}, now_};
  if (storage_.keep(step.channel, *slot)) return true;
  for (const ChannelId each : travelling_with(*prepared_.program, step.channel)) {
    const Channel& of = prepared_.channel(each);
    const Array* given = prepared_.caller_memory.target(of.value);
    const bool there = given && slot->at == given->bytes() && !read_here_[of.value];
    const std::int64_t bytes = bytes_of(of.value) - taken;
    if (bytes > 0 && !there) std::memcpy(data(of.value) + taken, slot->at + of.offset + taken, static_cast<std::size_t>(bytes));
    if (there) given_.insert(of.value);
  }
  ring.release(*run_);
  return true;
}

}  // namespace cleave::runtime
