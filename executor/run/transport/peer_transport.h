// PeerTransport: values that one accelerator fetches from the arena of another. The sender announces where a value lies; the receiver waits
// until it is computed, and copies it. No slot lies between: the sender keeps the value's storage until the copy is done (its memory plan
// reserves the storage until the receive), and a command of the sender that writes there waits for that (CommandQueue::lend).
#pragma once

#include <vector>

#include "executor/run/commands/loan.h"
#include "executor/run/transport/transport.h"

namespace cleave::runtime {

class PeerTransport final : public Transport, public Loan {
 public:
  /// The sender may be `capacity` generations ahead.
  PeerTransport(std::vector<TransferredValue> values, DeviceId from, Device& source, Device& target, int capacity);

  void place(DeviceId end, std::vector<Load> loads) override;
  /// The host has no part in it.
  bool host_step(HostEnd& /*host*/, const Origin& /*here*/) override { return false; }
  bool device_step(CommandQueue& queue, const Origin& here) override;
  bool await_return(CommandQueue& queue, std::uint64_t generation, const Origin& here) override;

 protected:
  void reset(const RunOptions& options, const CallerMemory& memory) override;

 private:
  struct Slot {
    const Load* load = nullptr;  ///< the values on the sender
    Point ready;                 ///< of the sender's streams: the values are computed
    Point done;                  ///< of the receiver's streams: the values are copied
  };
  [[nodiscard]] Slot& slot(std::uint64_t generation) { return slots_[generation % slots_.size()]; }
  bool send(CommandQueue& queue, const Origin& here);
  bool receive(CommandQueue& queue, const Origin& here);
  /// Waits for an event of the other device; false: it is poisoned, which is reported.
  static bool await(CommandQueue& queue, Streams& other, const Event& event, const Origin& here);

  const DeviceId from_;
  Device &source_, &target_;
  std::vector<Load> source_loads_, target_loads_;
  std::vector<Slot> slots_;
  std::uint64_t sent_ = 0, taken_ = 0;  ///< numbers of generations; guarded by the RunState's lock
};

}  // namespace cleave::runtime
