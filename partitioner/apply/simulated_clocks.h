// SimulatedClocks: the clocks of a simulated run (predict.h), which say when each resource is free, and the work and waits that move them
// on. Knows no step and no channel.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "partitioner/apply/critical_path.h"
#include "partitioner/apply/schedule_trace.h"

namespace cleave::planner {

/// The clocks by number: the host's, and for each accelerator four: its own, those of the engines of its link, and that of its driver,
/// which says until when the driver has waited.
constexpr std::size_t clock_of(std::size_t device) {
  return device == 0 ? 0 : 4 * device - 3;
}
constexpr std::size_t engine_to_accelerator(std::size_t device) {
  return clock_of(device) + 1;
}
constexpr std::size_t engine_to_host(std::size_t device) {
  return clock_of(device) + 2;
}
constexpr std::size_t driver_of(std::size_t device) {
  return clock_of(device) + 3;
}
constexpr bool is_driver(std::size_t clock) {
  return clock > 0 && clock % 4 == 0;
}
constexpr Resource resource_of(std::size_t clock) {
  return clock == 0 ? Resource::host : static_cast<Resource>(1 + (clock - 1) % 4);
}

/// A vector that allocates only beyond its first N elements: those of one accelerator, which each loop and branch copies.
template <class T, std::size_t N>
class ShortVector {
 public:
  explicit ShortVector(std::size_t size = N) : size_(size), far_(size > N ? size - N : 0) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return i < N ? near_[i] : far_[i - N]; }
  const T& operator[](std::size_t i) const { return i < N ? near_[i] : far_[i - N]; }

 private:
  std::array<T, N> near_{};
  std::size_t size_;
  std::vector<T> far_;
};

/// All clocks at one point of the simulation.
struct ClockState {
  explicit ClockState(std::size_t devices = 2) : now(driver_of(devices - 1) + 1), idle(devices), busy(now.size()) {}

  ShortVector<Moment, 5> now;   ///< by clock
  double waited = 0;            ///< seconds of waiting of the accelerators
  ShortVector<double, 2> idle;  ///< the times since which each device has nothing to do
  ShortVector<double, 5> busy;  ///< by clock: how long that resource was at work
  double workers = 0;           ///< how long all workers together were at work
};

class SimulatedClocks {
 public:
  /// Both may be null: nothing is recorded.
  SimulatedClocks(std::size_t devices, ScheduleRecorder* recorder, CriticalPathRecorder* path)
      : recorder_(recorder), path_(path), state_(devices) {}

  [[nodiscard]] const ClockState& state() const { return state_; }
  [[nodiscard]] const Moment& now(std::size_t clock) const { return state_.now[clock]; }
  [[nodiscard]] const Moment& now_on(std::size_t device) const { return state_.now[clock_of(device)]; }
  /// Moves a clock on without work: nothing happens there before `moment`.
  void catch_up(std::size_t clock, const Moment& moment) { state_.now[clock] = later(state_.now[clock], moment); }
  /// The moment after `seconds` of work.
  [[nodiscard]] Moment after(const Moment& before, double seconds, std::size_t clock, NodeId node, ChannelId channel = {}) {
    return path_ ? path_->after(before, seconds, resource_of(clock), node, channel) : Moment{before.seconds + seconds};
  }

  /// Simulates work of a device.
  void work(std::size_t device, double seconds, NodeId node) {
    if (seconds <= 0) return;
    const std::size_t clock = clock_of(device);
    busy(clock, seconds, ScheduledPiece::What::compute, node, 0);
    state_.now[clock] = after(state_.now[clock], seconds, clock, node);
    state_.idle[device] = state_.now[clock].seconds;
  }
  /// Counts work of a worker, whose time the caller keeps.
  void work_on_worker(double seconds) { state_.workers += seconds; }
  /// Simulates one transfer of an engine.
  void copy(std::size_t engine, double seconds, ChannelId channel, NodeId producer, std::size_t transfer) {
    busy(engine, seconds, ScheduledPiece::What::copy, producer, transfer);
    state_.now[engine] = after(state_.now[engine], seconds, engine, NodeId(), channel);
  }
  /// The host waits until `end` for work on `node` that others do, and counts as busy with it.
  void work_until(const Moment& end, NodeId node) {
    const double rest = end.seconds - state_.now[0].seconds;
    if (rest <= 0) return;
    busy(0, rest, ScheduledPiece::What::compute, node, 0);
    state_.now[0] = end;
    state_.idle[0] = end.seconds;
  }
  /// A device waits. Adds an accelerator's seconds of waiting to `record`.
  void wait(std::size_t device, const Moment& until, double& record) {
    Moment& now = state_.now[clock_of(device)];
    const double waited = std::max(0.0, until.seconds - now.seconds);
    if (recorder_) recorder_->add({ScheduledPiece::What::wait, resource_of(clock_of(device)), NodeId(), 0, now.seconds, until.seconds, 0});
    now = later(now, until);
    if (device == 0) return;
    state_.waited += waited;
    record += waited;
  }

  /// Extrapolates: all that happened since `begin` happens `1 + factor` times. If `settled`, the period before took as long, and the
  /// critical path repeats that one, since the last one may end with work that is not repeated.
  void repeat_since(const ClockState& begin, double factor, bool settled);
  /// Adds a loop or arm that began at `start`, and was recorded as frame number `frame`, as pieces to the trace of the frame around it.
  void add_frame(NodeId control, std::size_t frame, const ClockState& start);
  /// The time at which the last resource is done.
  [[nodiscard]] Moment end() const;

 private:
  /// Records work of a resource from its current time.
  void busy(std::size_t clock, double seconds, ScheduledPiece::What what, NodeId node, std::size_t index) {
    const double begin = state_.now[clock].seconds;
    if (recorder_) recorder_->add({what, resource_of(clock), node, index, begin, begin + seconds, seconds});
    state_.busy[clock] += seconds;
  }

  ScheduleRecorder* const recorder_;
  CriticalPathRecorder* const path_;
  ClockState state_;
};

}  // namespace cleave::planner
