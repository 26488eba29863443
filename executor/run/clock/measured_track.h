// MeasuredTrack: records on a track when a device executed its commands, by the device's own clock: it remembers the purpose of each
// command until its times are known. Used by the driver thread only.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "executor/device/timestamps.h"
#include "executor/run/clock/track.h"
#include "executor/run/clock/transferred_value.h"

namespace cleave::runtime {

class MeasuredTrack {
 public:
  using Clock = RunState::Clock;
  using Nodes = std::shared_ptr<const std::vector<NodeId>>;
  /// The purpose of a command.
  struct Note {
    TimelineEvent::What what = TimelineEvent::What::compute;
    NodeId node;                                    ///< none: the command has no event on a timeline
    std::span<const TransferredValue> values = {};  ///< transfers
    Nodes together = {};                            ///< computing: TimelineEvent::together
    bool unfinished = false;                        ///< computing: the next command continues the same operation
  };

  /// `timestamps`: those of the device `id`; null: it has no clock of its own.
  MeasuredTrack(DeviceId id, Timestamps* timestamps, Track& track) : id_(id), timestamps_(timestamps), track_(track) {}

  /// Must be called before each run: turns measurement off.
  void reset();
  /// Starts measurement; times count from `start`.
  Status begin(Clock::time_point start);

  /// Describes the next command enqueued in `stream`.
  Status expect(Stream stream, const Note& note);
  /// Records that the driver thread has waited for the host since `from`; the compute stream has waited too, once it had finished its
  /// commands.
  void waited(NodeId node, Clock::time_point from);
  [[nodiscard]] Clock::time_point now() const { return on_ ? Clock::now() : Clock::time_point(); }
  /// Takes the times that the device knows by now. `last`: no further command follows.
  Status take(bool last);

 private:
  struct Expected {
    std::uint64_t label = 0;
    Note note;
  };
  struct Wait {
    std::uint64_t behind = 0;  ///< the last label of the compute stream
    NodeId node;
    Clock::time_point from, to;
  };
  Status take(Stream stream, bool last);
  void add(Stream stream, const Note& note, const Measured& measured);
  void add_transfer(Stream stream, const Note& note, const Measured& measured);
  void add_waits(std::uint64_t before);
  [[nodiscard]] double seconds(Clock::time_point time) const { return std::chrono::duration<double>(time - start_).count(); }

  const DeviceId id_;
  Timestamps* const timestamps_;
  Track& track_;
  bool on_ = false;
  Clock::time_point start_;
  std::uint64_t labels_ = 0;
  std::uint64_t compute_label_ = 0;  ///< the last of the compute stream
  double unfinished_ = 0;            ///< seconds so far of an operation that consists of several commands
  Clock::time_point computed_;       ///< the time until which the compute stream is known to have been busy
  std::array<std::deque<Expected>, kStreamCount> expected_;
  std::deque<Wait> waits_;
  std::vector<Measured> known_;
};

}  // namespace cleave::runtime
