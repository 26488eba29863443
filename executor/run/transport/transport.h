// Transport: the way of one channel's values between the host and a device, or between two devices. The kind of a channel's transport is
// chosen when the program is prepared (prepare/open_transports.h); in a run each side calls the function of its own end, on its own thread.
// A coalesced transfer has one transport, which moves all of its values.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/arguments/caller_memory.h"
#include "executor/device/coalesced_copies.h"
#include "executor/run/commands/command_queue.h"
#include "executor/run/transport/host_end.h"

namespace cleave::runtime {

class Transport {
 public:
  /// The values on the device, in one turn of the rotating buffers.
  struct Load {
    std::vector<StorageIndex> storages;
    std::vector<Piece> ranges;  ///< of the storages
    PiecesId pieces;            ///< invalid: each range is copied by itself
  };

  explicit Transport(std::vector<TransferredValue> values);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;
  /// Must be called once for each device at an end, before any run. One load a turn.
  virtual void place(DeviceId /*end*/, std::vector<Load> loads) { loads_ = std::move(loads); }

  /// Must be called before each run, while the device is idle: returns to generation zero. `memory` has the caller's arrays of the run.
  void begin(const RunOptions& options, const CallerMemory& memory) {
    moved_ = {};
    reset(options, memory);
  }
  /// Sends or receives the next generation. False: the run has stopped, or the step failed, which is reported.
  virtual bool host_step(HostEnd& host, const Origin& here) = 0;
  virtual bool device_step(CommandQueue& queue, const Origin& here) = 0;
  /// Waits for the values of a run's first generation, for a reader besides the receiver, and returns their address. Null: they do not
  /// come, or this transport has no such reader.
  virtual const std::byte* first(RunState& /*run*/, const Origin& /*here*/) { return nullptr; }
  /// Ends every wait of the device for values that the host will not send any more.
  virtual void release() const {}

  [[nodiscard]] const std::vector<TransferredValue>& values() const { return values_; }
  /// The values moved in the run, and their bytes.
  [[nodiscard]] const TransferCount& moved() const { return moved_; }

 protected:
  virtual void reset(const RunOptions& options, const CallerMemory& memory) = 0;

  /// Predicted.
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] const Load& load(const CommandQueue& queue) const { return loads_[static_cast<std::size_t>(queue.rotation.turn)]; }
  /// The description of the device's command on a timeline.
  [[nodiscard]] MeasuredTrack::Note note(const Origin& here) const { return {TimelineEvent::What::transfer, here.node, values_}; }
  /// Counts the values that the last command moves, and shows them on the timeline.
  void count(CommandQueue& queue, Stream stream);
  /// Copies the values between the host's storages and a buffer, where they are not there yet.
  void pack(const HostStorage& from, std::byte* to) const;
  void unpack(const HostStorage& to, const std::byte* from) const;

 private:
  const std::vector<TransferredValue> values_;
  double seconds_ = 0;
  std::vector<Load> loads_;
  TransferCount moved_;
};

}  // namespace cleave::runtime
