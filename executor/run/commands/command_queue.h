// CommandQueue: enqueues the commands of one device, each behind all commands that it depends on. Dependences are expressed by events
// (hazards.h); both clocks follow the same waits. Used by the device's driver thread only. It knows no step and no channel.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "executor/device/device.h"
#include "executor/run/clock/measured_track.h"
#include "executor/run/clock/track.h"
#include "executor/run/clock/virtual_clock.h"
#include "executor/run/commands/hazards.h"
#include "executor/run/commands/loan.h"
#include "executor/run/commands/rotation.h"
#include "executor/run/commands/work.h"

namespace cleave::runtime {

class CommandQueue {
 public:
  /// `hazards` tracks the storages that transfers access. `virtual_time`: the timeline shows the virtual clock's times.
  CommandQueue(DeviceId id, Device& device, Hazards hazards, bool virtual_time);

  /// Must be called before each run.
  void begin(RunState& run, const RunOptions& options);
  /// Starts to measure, if a timeline is asked for whose times the device measures. They count from `start`.
  Status measure(RunState::Clock::time_point start);
  /// Waits until the device is idle, and takes the remaining measured times. Errors end the run.
  void drain();

  /// Enqueues one command, described by `note`, in `stream` behind all commands that it depends on. `enqueue` enqueues the command itself;
  /// nullopt if it failed.
  template <class F>
  std::optional<Point> put(Stream stream, const WorkView& work, const MeasuredTrack::Note& note, const Origin& here, F&& enqueue);
  /// The point at which the commands so far have written these storages, for a reader outside of this device; nullopt: it failed.
  std::optional<Point> available(std::span<const StorageIndex> storages, const Origin& here);
  /// Another device reads these storages, which transfers access: a command that writes there first waits for their return.
  void lend(std::span<const StorageIndex> storages, Loan& loan, std::uint64_t generation);
  /// Waits until generation `generation` of a loan, and all before it, are back; false: the run has stopped.
  bool settle(const Loan& loan, std::uint64_t generation, const Origin& here);
  /// Makes `stream` wait for all commands that a command with this work depends on, until `start` or later; false: it failed.
  bool wait_for(Stream stream, const WorkView& work, double& start, const Origin& here);
  bool wait_for(Stream stream, const Event& event, const Origin& here);
  /// Records that the work just enqueued in `stream` is done at the virtual time `time`.
  Point finish(Stream stream, const WorkView& work, double time);
  /// Whether a transfer may still access the storage when the compute stream is done with it.
  [[nodiscard]] bool tracks(StorageIndex storage) const { return hazards_.watched(storage); }
  /// Waits until no other device reads the storage that the next command writes; false: the run has stopped.
  bool take_back(StorageIndex written, double& start, Stream stream, const Origin& here);
  /// Reports an error of the step at `here`; false.
  bool fail(const Origin& here, Error error);

  /// The driver waits for the host until the virtual time `time`: the timeline shows a wait since `before`.
  void wait_until(double time, double before, NodeId node);
  /// The timeline shows the work of a node, or the values of a transfer, in the time of the last command; on the virtual clock only.
  void show(NodeId node, double begin, double end);
  void show(std::span<const TransferredValue> values, Stream stream);

  [[nodiscard]] DeviceId id() const { return id_; }
  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] RunState& run() { return *run_; }
  [[nodiscard]] VirtualClock& clock() { return clock_; }
  [[nodiscard]] MeasuredTrack& measured() { return measured_; }
  [[nodiscard]] Track& track() { return track_; }

  Rotation rotation;
  Position host_reached;  ///< the position that the host has reached when the compute stream gets to the current command

 private:
  const DeviceId id_;
  Device& device_;
  Streams& streams_;
  Hazards hazards_;
  const bool virtual_time_;
  RunState* run_ = nullptr;
  VirtualClock clock_;
  Track track_;
  MeasuredTrack measured_;
  std::array<std::array<std::uint64_t, kStreamCount>, kStreamCount>
      waited_{};  ///< the sequence up to which a stream has already waited for another
  std::vector<Point> waits_;
  struct Lent {
    StorageIndex storage = kNoStorage;
    Loan* loan = nullptr;
    std::uint64_t generation = 0;
  };
  std::vector<Lent> lent_;
};

template <class F>
std::optional<Point> CommandQueue::put(Stream stream, const WorkView& work, const MeasuredTrack::Note& note, const Origin& here,
                                       F&& enqueue) {
  double start = clock_.ready(stream);
  if (!wait_for(stream, work, start, here)) return std::nullopt;
  clock_.start(start, work.seconds);
  Status status = measured_.expect(stream, note);
  if (status) status = enqueue();
  if (!status) {
    fail(here, status.error());
    return std::nullopt;
  }
  return finish(stream, work, clock_.last().end);
}

}  // namespace cleave::runtime
