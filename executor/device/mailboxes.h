// Mailboxes: small values that the host and a device exchange through page-locked memory (mailbox.h), where the device waits for the host
// by itself.
#pragma once

#include <functional>

#include "executor/device/coalesced_copies.h"
#include "executor/device/mailbox.h"

namespace cleave::runtime {

class Mailboxes {
 public:
  virtual ~Mailboxes() = default;
  virtual Result<Mailbox> open() = 0;
  /// On `compute`: copies a value that the host has sent into the arena, after waiting for it.
  virtual Status take(Range to, const Delivery& delivery, const Origin& origin) = 0;
  virtual Status take(PiecesId to, const Delivery& delivery, const Origin& origin) = 0;
  /// On `compute`: copies a value out of the arena, for the host.
  virtual Status give(Range from, const Delivery& delivery, const Origin& origin) = 0;
  virtual Status give(PiecesId from, const Delivery& delivery, const Origin& origin) = 0;
  /// Called by the host: waits until the device has announced `number`, or the run `stops`. An Error if the value in `slot` is poisoned (a
  /// null slot is not checked), or the run is aborted.
  virtual Status await(const Mailbox& mailbox, std::uint64_t number, const MailboxSlot* slot, const std::function<bool()>& stops) = 0;
};

}  // namespace cleave::runtime
