// Exchange: a channel for small values, which the host and a device exchange without the device's driver thread: a mailbox, its slots, and
// the position of each side. Values moved by a copy engine go through rings (ring.h).
#pragma once

#include <vector>

#include "executor/device/mailbox.h"
#include "executor/device/position.h"

namespace cleave::runtime {

class Exchange {
 public:
  /// The number of `slots` is the capacity, as of a Ring. `host_order` is the order of the host's sending or receiving step.
  Exchange(Mailbox mailbox, std::vector<MailboxSlot> slots, std::int64_t host_order)
      : mailbox_(mailbox), slots_(std::move(slots)), places_(slots_.size()), host_order_(host_order) {}

  [[nodiscard]] const Mailbox& mailbox() const { return mailbox_; }
  [[nodiscard]] const MailboxSlot& slot(std::uint64_t number) const { return slots_[(number - 1) % slots_.size()]; }
  /// The generation that must have been taken before generation `number` is sent; 0: none.
  [[nodiscard]] std::uint64_t before(std::uint64_t number) const { return number > slots_.size() ? number - slots_.size() : 0; }

  /// The next generation that the host sends or takes, counted from one. Called by the host's thread only; `next_of_device` by the driver's
  /// only.
  std::uint64_t next_of_host() { return ++host_; }
  std::uint64_t next_of_device() { return ++device_; }

  /// The position of the host's step that corresponds to the device's step at `here`.
  [[nodiscard]] Position of_host(const Position& here) const {
    Position place = here;
    place.back() = host_order_;
    return place;
  }
  /// The position at which the host takes the latest value in the slot of generation `number`. Accessed by the driver only.
  Position& place(std::uint64_t number) { return places_[(number - 1) % places_.size()]; }

  /// Must be called between runs.
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
