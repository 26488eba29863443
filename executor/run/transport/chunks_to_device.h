// ChunksToDevice: a ring for one large value, which is staged and copied chunk by chunk: the device copies one chunk while the host stages
// the next. An operation of the host may compute the value while its chunks leave, and one of the device may be launched for some rows each
// time that their chunks have arrived. The virtual clock counts with the same chunks, however the value is really copied.
#pragma once

#include "executor/run/transport/chunks.h"
#include "executor/run/transport/ring_to_device.h"

namespace cleave::runtime {

class ChunksToDevice final : public RingToDevice {
 public:
  ChunksToDevice(std::vector<TransferredValue> values, Ring ring, Device& device, Chunks chunks);
  bool host_step(HostEnd& host, const Origin& here) override;
  bool device_step(CommandQueue& queue, const Origin& here) override;

  /// Called before the host computes the value piece by piece: publishes the next slot, if it is free by now.
  void begin_value(HostEnd& host);
  /// The host has computed the first `until` chunks: those that have not left yet leave.
  void give(HostEnd& host, std::size_t until);

  /// Must be called before any run: an operation of the device is launched several times, each time after `chunks[k]` chunks have arrived.
  void watch(std::vector<std::size_t> chunks);
  /// The arrival of the chunks that launch `k` waits for.
  [[nodiscard]] const Point& arrival(std::size_t k) const { return arrivals_[k]; }

 private:
  void reset(const RunOptions& options, const CallerMemory& memory) override;
  void stage(HostEnd& host, Ring::Slot& slot);
  void tell_times(Ring::Slot& slot) const;
  Status copy(CommandQueue& queue, const Ring::Slot& slot, const Range& to, const Origin& here, bool& stopped);
  void note_arrivals(const VirtualClock& clock);
  void follow_chunks(VirtualClock& clock, const Ring::Slot& slot) const;
  [[nodiscard]] std::int64_t bytes() const { return values().front().bytes; }

  const Chunks chunks_;
  // The host's side: the value that it is computing.
  Ring::Slot* slot_ = nullptr;             ///< published before the value is there; null: it is sent after it is computed
  std::size_t given_ = 0;                  ///< number of chunks that are computed
  double begun_ = 0, end_ = 0, free_ = 0;  ///< virtual: begin and end of the operation; the time at which the slot was free
  std::vector<double> made_;               ///< virtual: the time at which each chunk but the last was computed
  // The device's side.
  std::vector<std::size_t> watched_;  ///< empty: no operation reads the value while it arrives
  std::vector<Point> arrivals_;       ///< one a launch
};

}  // namespace cleave::runtime
