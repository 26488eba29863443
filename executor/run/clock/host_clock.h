// HostClock: the time of a run on the host: the virtual clock's, which the plan's costs advance, or the wall clock's. The virtual time
// counts in both cases; on the wall clock nothing waits for it or shows it.
#pragma once

#include <algorithm>

#include "executor/device/run_state.h"
#include "executor/run/clock/track.h"

namespace cleave::runtime {

class HostClock {
 public:
  /// Must be called before each run: the virtual time begins at `seconds`, the timeline on the wall clock at this moment.
  void begin(const RunOptions& options, bool virtual_time, double seconds) {
    virtual_time_ = virtual_time;
    now_ = seconds;
    start_ = RunState::Clock::now();
    track_.begin(options);
  }

  /// The virtual time.
  [[nodiscard]] double now() const { return now_; }
  void advance(double seconds) { now_ += seconds; }
  /// The host goes on at the virtual time `time` at the earliest.
  void catch_up(double time) {
    if (virtual_time_) now_ = std::max(now_, time);
  }
  /// The same, and the timeline shows the wait as one of `node`.
  void wait_until(double time, NodeId node) {
    if (virtual_time_) track_.add(TimelineEvent::What::wait, kHost, node, now_, time);
    catch_up(time);
  }

  /// The time on the timeline's clock; zero if there is no timeline.
  [[nodiscard]] double mark() const { return track_.on() ? virtual_time_ ? now_ : since_start(RunState::Clock::now()) : 0; }
  /// The host has really waited since `mark`: the timeline shows it, unless it shows the virtual clock's waits.
  void waited(double mark, NodeId node) {
    if (!virtual_time_) track_.add(TimelineEvent::What::wait, kHost, node, mark, this->mark());
  }
  /// The time on the timeline's clock of something that is known in both: in virtual seconds and in real time.
  [[nodiscard]] double on_timeline(double virtual_seconds, RunState::Clock::time_point real) const {
    return virtual_time_ ? virtual_seconds : since_start(real);
  }
  /// The timeline's zero.
  [[nodiscard]] RunState::Clock::time_point start() const { return start_; }
  [[nodiscard]] Track& track() { return track_; }

 private:
  [[nodiscard]] double since_start(RunState::Clock::time_point time) const { return std::chrono::duration<double>(time - start_).count(); }

  bool virtual_time_ = false;
  double now_ = 0;
  RunState::Clock::time_point start_;
  Track track_;
};

}  // namespace cleave::runtime
