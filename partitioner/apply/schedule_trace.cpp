#include "partitioner/apply/schedule_trace.h"

#include <utility>

namespace cleave::planner {

void ScheduleRecorder::add(ScheduledPiece piece) {
  if (paused_ == 0 && piece.end > piece.begin) trace_.frames[open_.back()].pieces.push_back(piece);
}

void ScheduleRecorder::enter(NodeId control, std::size_t arm) {
  const std::size_t key = control ? control.index + 1 : 0;
  const auto [found, first] = known_.try_emplace({key, arm}, trace_.frames.size());
  if (first) trace_.frames.push_back({control, arm, 0, {}});
  open_.push_back(found->second);
  if (paused_ > 0) return;
  trace_.frames[found->second].trip = 0;
  trace_.frames[found->second].pieces.clear();
}

void ScheduleRecorder::next_trip() {
  if (paused_ > 0) return;
  ScheduledFrame& frame = trace_.frames[open_.back()];
  ++frame.trip;
  frame.pieces.clear();
}

}  // namespace cleave::planner
