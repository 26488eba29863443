// Critical path: the chain of work from the beginning to the end of a predicted run in which each piece begins when its predecessor ends.
// The times of its pieces add up to the time of the run, so they show what limits it (J. E. Kelley and M. R. Walker, Critical-path planning
// and scheduling, 1959).
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/apply/elapsed_bounds.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {

/// All executions of one computation, decision or copy that are on the critical path.
struct PathPiece {
  Resource resource = Resource::host;
  NodeId node;         ///< work: the operation, or the control node that is decided; none: the fixed cost of a run
  ChannelId channel;   ///< copies: the channel; none for work
  double seconds = 0;  ///< total in a run
};

/// A point in time of a simulated run, with the last piece of the chain of work that leads to it.
struct Moment {
  double seconds = 0;
  std::int32_t link = -1;  ///< an index into a CriticalPathRecorder's links; -1: the beginning of the run, or no recorder
};
inline Moment later(const Moment& a, const Moment& b) {
  return b.seconds > a.seconds ? b : a;
}

/// Records the chains of work while a run is simulated (predict.cpp). It keeps one link for each simulated piece of work.
class CriticalPathRecorder {
 public:
  /// The moment `seconds` of work after `before`. Negative seconds move back in time: the last part of that work is not needed yet.
  Moment after(const Moment& before, double seconds, Resource resource, NodeId node, ChannelId channel);
  /// The same chain, but `period` seconds of it, ending `lag` seconds before its end, happen `1 + factor` times. Used for a loop that is
  /// not simulated to its end, and for an arm of a branch.
  Moment repeated(const Moment& end, double factor, double period, double lag);
  /// The chain up to `end`, sorted by resource, node and channel. The seconds of the pieces add up to `end.seconds`.
  [[nodiscard]] std::vector<PathPiece> path_to(const Moment& end) const;

 private:
  struct Link {
    double seconds;  ///< a repetition: its period
    double factor;   ///< a repetition: the number of additional executions; work: 0
    double lag;      ///< a repetition: the seconds between the period's end and the chain's; work: 0
    std::int32_t before;
    std::uint32_t index;  ///< index of the node, or of the channel if `resource` copies
    Resource resource;
    bool repeats;
  };
  std::vector<Link> links_;
};

}  // namespace cleave::planner
