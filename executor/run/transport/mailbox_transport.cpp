#include "executor/run/transport/mailbox_transport.h"

namespace cleave::runtime {

void MailboxTransport::reset(const RunOptions& /*options*/, const CallerMemory& /*memory*/) {
  host_ = device_ = 0;
  mailbox_.reset();
}

bool MailboxTransport::await(HostEnd& host, std::uint64_t number, const MailboxSlot* slot, const Origin& here) {
  RunState& run = host.run();
  const bool there = mailbox_.heard() >= number;
  if (!there) run.set_waiting(kHost, here.node);
  const Status status = mailboxes_.await(mailbox_, number, slot, [&] { return run.failed() && run.stops(here.position); });
  if (!there) run.clear_waiting(kHost);
  return status.ok() || host.fail(here, status.error());
}

Position MailboxTransport::of_host(const Position& here) const {
  Position position = here;
  position.back() = host_order_;
  return position;
}

bool MailboxToDevice::host_step(HostEnd& host, const Origin& here) {
  const std::uint64_t number = next_of_host();
  if (!await(host, before(number), nullptr, here)) return false;
  pack(host.storage, slot(number).data);
  mailbox().tell(number);
  return true;
}

bool MailboxToDevice::device_step(CommandQueue& queue, const Origin& here) {
  const std::uint64_t number = next_of_device();
  const Load& to = load(queue);
  const auto enqueue = [&] {
    const Delivery sent = delivery(number, number);
    return to.pieces ? mailboxes().take(to.pieces, sent, here) : mailboxes().take(range(to), sent, here);
  };
  if (!queue.put(Stream::compute, {{}, to.storages, 0}, note(here), here, enqueue)) return false;
  queue.host_reached = of_host(here.position);
  count(queue, Stream::compute);
  return true;
}

bool MailboxToHost::device_step(CommandQueue& queue, const Origin& here) {
  const std::uint64_t number = next_of_device();
  const Load& from = load(queue);
  // A value that the compute stream has taken since was sent after the host took this slot's last value, so the slot is free by now.
  Position& taken = taken_[(number - 1) % capacity()];
  const bool free = taken < queue.host_reached;
  taken = of_host(here.position);
  const auto enqueue = [&] {
    const Delivery given = delivery(number, free ? 0 : before(number));
    return from.pieces ? mailboxes().give(from.pieces, given, here) : mailboxes().give(range(from), given, here);
  };
  if (!queue.put(Stream::compute, {from.storages, {}, 0}, note(here), here, enqueue)) return false;
  count(queue, Stream::compute);
  return true;
}

bool MailboxToHost::host_step(HostEnd& host, const Origin& here) {
  const double mark = host.clock.mark();
  const std::uint64_t number = next_of_host();
  if (!await(host, number, &slot(number), here)) return false;
  host.clock.waited(mark, here.node);
  unpack(host.storage, slot(number).data);
  mailbox().tell(number);
  return true;
}

}  // namespace cleave::runtime
