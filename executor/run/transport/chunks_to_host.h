// ChunksToHost: a ring for one large value, which is copied chunk by chunk: the host copies a chunk out of the slot, or works on it, while
// the device copies the next one in.
#pragma once

#include "executor/run/transport/chunks.h"
#include "executor/run/transport/ring_to_host.h"

namespace cleave::runtime {

class ChunksToHost final : public RingToHost {
 public:
  ChunksToHost(std::vector<TransferredValue> values, Ring ring, Device& device, const ReceivedUse& use, Chunks chunks)
      : RingToHost(std::move(values), std::move(ring), device, use), chunks_(chunks) {}
  /// If an operation takes the value chunk by chunk, the step only begins to receive it.
  bool host_step(HostEnd& host, const Origin& here) override;
  bool device_step(CommandQueue& queue, const Origin& here) override;

  /// Takes the first `until` chunks on behalf of the value's producer, if the step has not received the value as a whole. Adds the seconds
  /// of waiting to `waited`.
  bool take_chunks(HostEnd& host, std::size_t until, const Origin& here, double& waited);
  /// Takes the remaining chunks. Then the slot is free, unless the value stays there.
  bool take_rest(HostEnd& host, const Origin& here, double& waited);

 private:
  void reset(const RunOptions& options, const CallerMemory& memory) override;
  void tell_times(Ring::Slot& slot, const VirtualClock::Interval& copy) const;
  [[nodiscard]] std::int64_t bytes() const { return values().front().bytes; }

  const Chunks chunks_;
  bool later_ = false;          ///< in this run the value is taken chunk by chunk
  Ring::Slot* slot_ = nullptr;  ///< of a value that is being taken
  std::size_t taken_ = 0;       ///< number of chunks taken
};

}  // namespace cleave::runtime
