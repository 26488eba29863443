// MeasuredTrack: puts onto a track what a device did when, by its own clock: remembers what each of its commands is for until the times are
// known. All by the driver thread.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "executor/run/prepared.h"

namespace cleave::runtime {

class MeasuredTrack {
 public:
  using Clock = RunState::Clock;
  using Nodes = std::shared_ptr<const std::vector<NodeId>>;
  /// What a command is for.
  struct Note {
    TimelineEvent::What what = TimelineEvent::What::compute;
    NodeId node;              ///< none: nothing that a timeline has
    ChannelId first;          ///< transfers: of what travels together
    Nodes together = {};      ///< computing: TimelineEvent::together
    bool unfinished = false;  ///< computing: the next command does more of the same
  };

  MeasuredTrack(const Prepared& prepared, DeviceId id, Track& track) : prepared_(prepared), id_(id), track_(track) {}

  /// Before each run: nothing is measured.
  void reset();
  /// From now on; times count from `start`.
  Status begin(Clock::time_point start);

  /// What is put into `stream` next.
  Status expect(Stream stream, const Note& note);
  /// The driver thread has waited for the host since `from`, and for as long the compute stream, once it was done with all that it had.
  void waited(NodeId node, Clock::time_point from);
  [[nodiscard]] Clock::time_point now() const { return on_ ? Clock::now() : Clock::time_point(); }
  /// What the device knows by now. `last`: no more is expected.
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

  const Prepared& prepared_;
  const DeviceId id_;
  Track& track_;
  bool on_ = false;
  Clock::time_point start_;
  std::uint64_t labels_ = 0;
  std::uint64_t compute_label_ = 0;  ///< the last of the compute stream
  double unfinished_ = 0;            ///< seconds, of a command that is one of several
  Clock::time_point computed_;       ///< until when the compute stream is known to have been at work
  std::array<std::deque<Expected>, kStreamCount> expected_;
  std::deque<Wait> waits_;
  std::vector<Measured> known_;
};

}  // namespace cleave::runtime
