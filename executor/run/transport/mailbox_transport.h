// MailboxTransport: small values that the host and a device exchange through a mailbox and slots in page-locked memory. The device waits
// for the host by itself, so that its driver enqueues many generations ahead, and the transfer of a value wakes no thread.
#pragma once

#include <utility>

#include "executor/device/mailboxes.h"
#include "executor/run/transport/transport.h"

namespace cleave::runtime {

class MailboxTransport : public Transport {
 public:
  /// The number of `slots` is the capacity, as of a Ring. `host_order` is the order of the host's sending or receiving step.
  MailboxTransport(std::vector<TransferredValue> values, Mailbox mailbox, std::vector<MailboxSlot> slots, std::int64_t host_order,
                   Mailboxes& mailboxes)
      : Transport(std::move(values)), mailbox_(mailbox), slots_(std::move(slots)), host_order_(host_order), mailboxes_(mailboxes) {}
  void release() const override { mailbox_.release(); }

 protected:
  void reset(const RunOptions& options, const CallerMemory& memory) override;
  /// Waits until the device has announced `number`. False: the value in `slot` is poisoned, or the run was aborted.
  bool await(HostEnd& host, std::uint64_t number, const MailboxSlot* slot, const Origin& here);
  /// The position of the host's step that corresponds to the device's step at `here`.
  [[nodiscard]] Position of_host(const Position& here) const;
  [[nodiscard]] const MailboxSlot& slot(std::uint64_t number) const { return slots_[(number - 1) % slots_.size()]; }
  /// The generation that must have been taken before generation `number` is sent; 0: none.
  [[nodiscard]] std::uint64_t before(std::uint64_t number) const { return number > slots_.size() ? number - slots_.size() : 0; }
  /// The next generation that the host sends or takes, counted from one.
  std::uint64_t next_of_host() { return ++host_; }
  std::uint64_t next_of_device() { return ++device_; }
  /// The transfer of one generation, for the device.
  [[nodiscard]] Delivery delivery(std::uint64_t number, std::uint64_t after) const { return {slot(number), mailbox_, number, after}; }
  /// The arena's range of a value that is transferred by itself.
  [[nodiscard]] Range range(const Load& load) const { return {load.ranges.front().range.offset, values().front().bytes}; }
  [[nodiscard]] const Mailbox& mailbox() const { return mailbox_; }
  [[nodiscard]] Mailboxes& mailboxes() { return mailboxes_; }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

 private:
  const Mailbox mailbox_;
  const std::vector<MailboxSlot> slots_;
  const std::int64_t host_order_;
  Mailboxes& mailboxes_;
  std::uint64_t host_ = 0, device_ = 0;  ///< each accessed by the thread of its side only
};

class MailboxToDevice final : public MailboxTransport {
 public:
  using MailboxTransport::MailboxTransport;
  bool host_step(HostEnd& host, const Origin& here) override;
  bool device_step(CommandQueue& queue, const Origin& here) override;
};

class MailboxToHost final : public MailboxTransport {
 public:
  MailboxToHost(std::vector<TransferredValue> values, Mailbox mailbox, std::vector<MailboxSlot> slots, std::int64_t host_order,
                Mailboxes& mailboxes)
      : MailboxTransport(std::move(values), mailbox, std::move(slots), host_order, mailboxes), taken_(capacity()) {}
  bool host_step(HostEnd& host, const Origin& here) override;
  bool device_step(CommandQueue& queue, const Origin& here) override;

 private:
  std::vector<Position> taken_;  ///< by slot: the position at which the host takes its latest value; accessed by the driver only
};

}  // namespace cleave::runtime
