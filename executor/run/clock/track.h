// Track: the events that one thread records of a run, for the timeline.
#pragma once

#include <vector>

#include "executor/arguments/run_options.h"
#include "executor/device/event.h"
#include "executor/report/timeline.h"
#include "executor/runtime.h"
#include "graph/base/boundary.h"
#include "graph/base/exceptions.h"

namespace cleave::runtime {

/// The timeline's lane of the commands of a device's stream.
inline TimelineEvent::Lane lane_of(Stream stream) {
  if (stream == Stream::compute) return TimelineEvent::Lane::steps;
  return stream == Stream::to_device ? TimelineEvent::Lane::to_accelerator : TimelineEvent::Lane::to_host;
}

/// Times are seconds from the start of the run, virtual or wall-clock.
class Track {
 public:
  /// Must be called before each run.
  void begin(const RunOptions& options) {
    keeps_ = options.timeline;
    tell_ = options.on_timeline;
    told_ = {};
    events_.clear();
    batch_.clear();
  }
  [[nodiscard]] bool on() const { return keeps_ || tell_; }
  void add(TimelineEvent::What what, DeviceId device, NodeId node, double start, double end) {
    const bool waits = what == TimelineEvent::What::wait;
    add({what, device, node, start, end, 0, waits ? TimelineEvent::Lane::waits : TimelineEvent::Lane::steps, {}});
  }
  void add(const TimelineEvent& event) {
    if (!on() || (event.what == TimelineEvent::What::wait && event.end_seconds <= event.start_seconds)) return;
    if (keeps_) events_.push_back(event);
    if (!tell_) return;
    batch_.push_back(event);
    if (batch_.size() >= kBatch) tell_rest();
  }
  /// Must be called after each run, however it ended: reports the remaining events.
  void tell_rest() {
    if (tell_ && told_ && !batch_.empty())
      told_ = detail::guard_user("`on_timeline`", [this]() -> Status {
        call_foreign("`on_timeline`", {}, [this] { tell_(batch_); });
        return {};
      });
    batch_.clear();
  }
  /// Success, or the exception of `on_timeline` as an Error.
  [[nodiscard]] const Status& told() const { return told_; }
  [[nodiscard]] std::vector<TimelineEvent>& events() { return events_; }

 private:
  static constexpr std::size_t kBatch = 1024;
  bool keeps_ = false;
  TimelineSink tell_;
  Status told_;
  std::vector<TimelineEvent> events_, batch_;
};

}  // namespace cleave::runtime
