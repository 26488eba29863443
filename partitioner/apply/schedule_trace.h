// ScheduleTrace: the work and the waits of a predicted run over time, for drawing. A loop is one piece in the frame around it, and has a
// frame of its own with its last simulated iteration; an arm of a branch likewise.
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
    compute,  ///< executes `node`; a fused kernel is named by its last operation; none: the fixed cost of a run
    copy,     ///< copies transfer number `index`
    wait,     ///< waits for a value or a decision of the other side
    inner,    ///< frame number `index`: all iterations of a loop, or an arm weighted by its probability
  };
  What what = What::compute;
  Resource resource = Resource::host;
  NodeId node;
  std::size_t index = 0;
  double begin = 0, end = 0;
  double busy_seconds = 0;  ///< `inner`: how long the resource is at work in that frame
};

struct ScheduledFrame {
  NodeId control;                      ///< the loop or branch; none: the whole run
  std::size_t arm = 0;                 ///< for a branch: 0 is the then arm, 1 the else arm
  int trip = 0;                        ///< for a loop: the number of the recorded iteration, from 1
  std::vector<ScheduledPiece> pieces;  ///< sorted by time for each resource
};

struct ScheduleTrace {
  std::vector<ScheduledFrame> frames;  ///< the whole run first, the others in the order of first entry
};

/// Records a trace while a run is simulated (predict.cpp).
class ScheduleRecorder {
 public:
  ScheduleRecorder() { enter(NodeId(), 0); }

  /// Adds a piece of work to the current frame. Pieces that take no time are left out.
  void add(ScheduledPiece piece);
  void enter(NodeId control, std::size_t arm);
  /// Begins the next iteration of a loop and discards the record of the previous one.
  void next_trip();
  /// Stops recording until resume(): the work until the frame is left belongs to no iteration.
  void pause() { ++paused_; }
  void resume() { --paused_; }
  /// Closes the current frame and returns its index. Recording continues in the frame around it.
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
