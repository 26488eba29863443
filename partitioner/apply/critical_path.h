// Critical path: the chain of work from the beginning of a predicted run to its end in which each piece begins when the one before it ends.
// The times of its pieces add up to the time of the run, so they say what a run waits for (J. E. Kelley and M. R. Walker, Critical-path
// planning and scheduling, 1959).
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/apply/elapsed_bounds.h"
#include "partitioner/apply/program.h"

namespace cleave::planner {

/// All executions of one computation, decision or copy, as far as they lie on the critical path.
struct PathPiece {
  Resource resource = Resource::host;
  NodeId node;         ///< work: the operation, or the control node that is decided; none: what a run takes beside its steps
  ChannelId channel;   ///< copies: which; none: work
  double seconds = 0;  ///< in a run
};

/// A point in time of a simulated run, and the last piece of the chain of work that leads to it.
struct Moment {
  double seconds = 0;
  std::int32_t link = -1;  ///< of a CriticalPathRecorder; -1: the beginning of the run, or nobody records
};
inline Moment later(const Moment& a, const Moment& b) {
  return b.seconds > a.seconds ? b : a;
}

/// Filled while a run is simulated (schedule.cpp). It keeps one link for each simulated piece of work.
class CriticalPathRecorder {
 public:
  /// The moment `seconds` after `before`, which the work takes. Negative: so long before it, since the end of that work is not needed yet.
  Moment after(const Moment& before, double seconds, Resource resource, NodeId node, ChannelId channel);
  /// The same chain, but `period` seconds of it, up to `lag` seconds before its end, happen `1 + factor` times: a loop that is not
  /// simulated to its end, or an arm of a branch.
  Moment repeated(const Moment& end, double factor, double period, double lag);
  /// The chain up to `end`, in the order of resources, nodes and channels. The seconds of the pieces add up to `end.seconds`.
  [[nodiscard]] std::vector<PathPiece> path_to(const Moment& end) const;

 private:
  struct Link {
    double seconds;  ///< repeated: the period
    double factor;   ///< repeated; work: 0
    double lag;      ///< likewise
    std::int32_t before;
    std::uint32_t index;  ///< of the node, or of the channel where `resource` copies
    Resource resource;
    bool repeats;
  };
  std::vector<Link> links_;
};

}  // namespace cleave::planner
