// RingToDevice: the host copies values into a slot of a ring, and a copy engine of the device copies them out, in one go. A value in
// page-locked memory of the caller is copied from there.
#pragma once

#include <utility>

#include "executor/run/transport/ring.h"
#include "executor/run/transport/transport.h"

namespace cleave::runtime {

class RingToDevice : public Transport {
 public:
  RingToDevice(std::vector<TransferredValue> values, Ring ring, Device& device)
      : Transport(std::move(values)), ring_(std::move(ring)), device_(device) {}
  bool host_step(HostEnd& host, const Origin& here) override;
  bool device_step(CommandQueue& queue, const Origin& here) override;
  /// Sets the address at which the host computes the next value: the slot from which it will be sent if that is free by now, else the
  /// arena. Waiting for the slot could be a deadlock, if its last value depends on values sent after this one.
  void place_result(HostEnd& host);
  /// Waits until place_result() finds the slot free; false: the run has stopped. Allowed only if the send is the next step.
  bool wait_for_slot(HostEnd& host, const Origin& here);

 protected:
  void reset(const RunOptions& options, const CallerMemory& memory) override;
  [[nodiscard]] Ring& ring() { return ring_; }
  [[nodiscard]] Device& device() { return device_; }
  /// The value in the caller's memory; null: it is staged.
  [[nodiscard]] const std::byte* source() const { return source_; }

 private:
  Ring ring_;
  Device& device_;
  const std::byte* source_ = nullptr;
};

}  // namespace cleave::runtime
