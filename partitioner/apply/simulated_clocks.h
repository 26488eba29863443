// SimulatedClocks: the clocks of a simulated run (predict.h), which say when each resource is free, and the work and waits that move them
// on. Knows no step and no channel.
#pragma once

#include <algorithm>
#include <array>

#include "partitioner/apply/critical_path.h"
#include "partitioner/apply/schedule_trace.h"

namespace cleave::planner {

inline constexpr std::size_t kResources = 4;  ///< host, accelerator, engine to the accelerator, engine to the host, as in Resource
inline constexpr std::size_t kDriver = 4;     ///< index of the driver's clock: the time until which the driver has waited

/// All clocks at one point of the simulation.
struct ClockState {
  std::array<Moment, kResources + 1> now{};  ///< each resource, then the driver
  double waited = 0;                         ///< seconds of waiting of the accelerator
  std::array<double, 2> idle{};              ///< the times since which host and accelerator have nothing to do
  std::array<double, kResources> busy{};     ///< how long each resource was at work
  double workers = 0;                        ///< how long all workers together were at work
};

class SimulatedClocks {
 public:
  /// Both may be null: nothing is recorded.
  SimulatedClocks(ScheduleRecorder* recorder, CriticalPathRecorder* path) : recorder_(recorder), path_(path) {}

  [[nodiscard]] const ClockState& state() const { return state_; }
  [[nodiscard]] const Moment& now(std::size_t resource) const { return state_.now[resource]; }
  /// Moves a clock on without work: nothing happens there before `moment`.
  void catch_up(std::size_t resource, const Moment& moment) { state_.now[resource] = later(state_.now[resource], moment); }
  /// The moment after `seconds` of work.
  [[nodiscard]] Moment after(const Moment& before, double seconds, std::size_t resource, NodeId node, ChannelId channel = {}) {
    return path_ ? path_->after(before, seconds, static_cast<Resource>(resource), node, channel) : Moment{before.seconds + seconds};
  }

  /// Simulates work of host or accelerator.
  void work(std::size_t device, double seconds, NodeId node) {
    if (seconds <= 0) return;
    busy(device, seconds, ScheduledPiece::What::compute, node, 0);
    state_.now[device] = after(state_.now[device], seconds, device, node);
    state_.idle[device] = state_.now[device].seconds;
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
  /// Host or accelerator waits. Adds the accelerator's seconds of waiting to `record`.
  void wait(std::size_t device, const Moment& until, double& record) {
    Moment& now = state_.now[device];
    const double waited = std::max(0.0, until.seconds - now.seconds);
    if (recorder_) recorder_->add({ScheduledPiece::What::wait, static_cast<Resource>(device), NodeId(), 0, now.seconds, until.seconds, 0});
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
  void busy(std::size_t resource, double seconds, ScheduledPiece::What what, NodeId node, std::size_t index) {
    const double begin = state_.now[resource].seconds;
    if (recorder_) recorder_->add({what, static_cast<Resource>(resource), node, index, begin, begin + seconds, seconds});
    state_.busy[resource] += seconds;
  }

  ScheduleRecorder* const recorder_;
  CriticalPathRecorder* const path_;
  ClockState state_;
};

}  // namespace cleave::planner
