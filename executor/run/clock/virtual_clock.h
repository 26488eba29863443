// VirtualClock: the times at which a device would execute its commands by the plan's costs. It counts on every device and costs a few
// additions a command; only the times of a simulated one are shown.
#pragma once

#include <algorithm>
#include <array>

#include "executor/device/event.h"

namespace cleave::runtime {

class VirtualClock {
 public:
  struct Interval {
    double begin = 0, end = 0;
  };

  /// The time at which a command in `stream` can begin, as far as the driver and earlier commands of the stream are concerned.
  [[nodiscard]] double ready(Stream stream) const { return std::max(streams_[index(stream)], driver_); }
  /// The driver enqueues nothing before `time`.
  void wait_until(double time) { driver_ = std::max(driver_, time); }
  /// The driver enqueues a command that begins at `begin`.
  void start(double begin, double seconds) { last_ = {begin, begin + seconds}; }
  /// Corrects when the command just started begins and ends.
  void correct(const Interval& interval) { last_ = interval; }
  /// `stream` is busy until `time`.
  void occupy(Stream stream, double time) { streams_[index(stream)] = time; }
  /// The command started last.
  [[nodiscard]] const Interval& last() const { return last_; }
  /// The time at which the last stream ends.
  [[nodiscard]] double now() const { return std::max({driver_, streams_[0], streams_[1], streams_[2]}); }

 private:
  static std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

  double driver_ = 0;                           ///< the time until which the driver has waited
  std::array<double, kStreamCount> streams_{};  ///< the time at which each stream is free
  Interval last_;
};

}  // namespace cleave::runtime
