// Exchange: a channel of small values that the host and a device hand each other without the device's driver thread: a mailbox, its slots,
// and how far each side is. Rings (channel.h) are for what a copy engine moves.
#pragma once

#include <vector>

#include "executor/device/device.h"

namespace cleave::runtime {

class Exchange {
 public:
  /// `slots` is the capacity, as of a Ring. `host_order` is that of the host's step, sending or receiving.
  Exchange(Mailbox mailbox, std::vector<MailboxSlot> slots, std::int64_t host_order)
      : mailbox_(mailbox), slots_(std::move(slots)), places_(slots_.size()), host_order_(host_order) {}

  [[nodiscard]] const Mailbox& mailbox() const { return mailbox_; }
  [[nodiscard]] const MailboxSlot& slot(std::uint64_t number) const { return slots_[(number - 1) % slots_.size()]; }
  /// What must have been taken before generation `number` is sent: none is 0.
  [[nodiscard]] std::uint64_t before(std::uint64_t number) const { return number > slots_.size() ? number - slots_.size() : 0; }

  /// The next generation that the host sends or takes, counted from one. The host's thread only; `next_of_device`: the driver's only.
  std::uint64_t next_of_host() { return ++host_; }
  std::uint64_t next_of_device() { return ++device_; }

  /// Where the host's step stands whose other half is the device's at `here`.
  [[nodiscard]] Position of_host(const Position& here) const {
    Position place = here;
    place.back() = host_order_;
    return place;
  }
  /// Where the host takes the value that is last known to lie in the slot of generation `number`; the driver's to read and to write.
  Position& place(std::uint64_t number) { return places_[(number - 1) % places_.size()]; }

  /// Between runs.
  void reset() {
    host_ = device_ = 0;
    mailbox_.reset();
  }

 private:
  Mailbox mailbox_;
  std::vector<MailboxSlot> slots_;
  std::vector<Position> places_;
  std::int64_t host_order_;
  std::uint64_t host_ = 0, device_ = 0;
};

}  // namespace cleave::runtime
