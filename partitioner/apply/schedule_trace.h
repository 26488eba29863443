// ScheduleTrace: what a predicted run looks like, for those who draw it: who is at work on what, and who waits. A loop is one piece of what
// is around it, and a frame of its own with the last of its trips that was simulated; so is an arm of a branch.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "partitioner/apply/elapsed_bounds.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {

struct ScheduledPiece {
  enum class What : std::uint8_t {
    compute,  ///< `node`; of what runs as one kernel the last; none: what a run takes beside its steps
    copy,     ///< the transfer `index`
    wait,     ///< for a value or a decision of the other side
    inner,    ///< the frame `index`: all trips of a loop, or an arm by its probability
  };
  What what = What::compute;
  Resource resource = Resource::host;
  NodeId node;
  std::size_t index = 0;
  double begin = 0, end = 0;
  double busy_seconds = 0;  ///< inner: how long the resource is at work there
};

struct ScheduledFrame {
  NodeId control;                      ///< the loop or branch; none: the run
  std::size_t arm = 0;                 ///< of a branch: 0 then, 1 otherwise
  int trip = 0;                        ///< of a loop: which is shown, from 1
  std::vector<ScheduledPiece> pieces;  ///< by resource in order of time
};

struct ScheduleTrace {
  std::vector<ScheduledFrame> frames;  ///< the run, then what is inside in the order of first entry
};

/// Filled while a run is simulated (schedule.cpp).
class ScheduleRecorder {
 public:
  ScheduleRecorder() { enter(NodeId(), 0); }

  /// What takes no time is left out.
  void add(ScheduledPiece piece);
  void enter(NodeId control, std::size_t arm);
  /// Another trip: the one before is forgotten.
  void next_trip();
  /// What follows until the frame is left belongs to no trip.
  void pause() { ++paused_; }
  void resume() { --paused_; }
  /// Which frame it was; what comes is recorded in the one around it.
  std::size_t leave() {
    const std::size_t left = open_.back();
    open_.pop_back();
    return left;
  }

  [[nodiscard]] ScheduleTrace take() && { return std::move(trace_); }

 private:
  ScheduleTrace trace_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known_;  ///< frames by control node and arm
  std::vector<std::size_t> open_;
  int paused_ = 0;
};

}  // namespace cleave::planner
