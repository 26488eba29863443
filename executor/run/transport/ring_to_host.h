// RingToHost: a copy engine of the device copies values into a slot of a ring, in one go, and the host copies them out, or reads them
// there. A value that the caller wants in page-locked memory of its own is copied there instead of a slot.
#pragma once

#include <utility>

#include "executor/run/transport/ring.h"
#include "executor/run/transport/transport.h"

namespace cleave::runtime {

/// How the host uses the values that a ring brings.
struct ReceivedUse {
  bool in_slot = false;         ///< the host reads the value in its slot until the next one is taken
  bool while_arriving = false;  ///< an operation takes the value chunk by chunk (prepare/overlap.h)
  bool read = false;            ///< a step of the host reads the value; else it is an output only
  bool in_place = false;        ///< the device may copy the value into the caller's array
  bool output = false;          ///< a caller may ask for the value as soon as it is there
};

class RingToHost : public Transport {
 public:
  RingToHost(std::vector<TransferredValue> values, Ring ring, Device& device, const ReceivedUse& use)
      : Transport(std::move(values)), use_(use), ring_(std::move(ring)), device_(device) {}
  bool host_step(HostEnd& host, const Origin& here) override;
  bool device_step(CommandQueue& queue, const Origin& here) override;
  const std::byte* first(RunState& run, const Origin& here) override;

 protected:
  void reset(const RunOptions& options, const CallerMemory& memory) override;
  /// The slot of the next generation, once the one that the host reads is released; null: the run has stopped.
  Ring::Slot* take(HostEnd& host, const Origin& here);
  /// Leaves the value in its slot until the next one is taken; false: it must be copied out of the slot.
  bool keep(HostEnd& host, const Ring::Slot& slot);
  /// Leaves the value in the array of the caller, if it is there and no step of the host reads it; false: it must be copied.
  bool leave_with_caller(HostEnd& host) const;

  [[nodiscard]] const ReceivedUse& use() const { return use_; }
  /// The caller's array that the device copies the value into; null: a slot.
  [[nodiscard]] const Array* target() const { return target_; }
  [[nodiscard]] Ring& ring() { return ring_; }
  [[nodiscard]] Device& device() { return device_; }

 private:
  const ReceivedUse use_;
  Ring ring_;
  Device& device_;
  bool held_ = false;  ///< the host has not released the last slot
  const Array* target_ = nullptr;
};

}  // namespace cleave::runtime
