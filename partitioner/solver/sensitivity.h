// How far the link or the accelerator may change before another placement becomes cheaper: exact intervals of bandwidth, of latency, and of
// the accelerator's speed. What a transfer costs is split into a part for its latency and a part for its size; one part grows, all else
// stays.
#pragma once

#include <cstdint>
#include <limits>

#include "graph/base/result.h"
#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Seconds of each transfer, in the two directions, that do not depend on its size. A cheaper transfer is all latency.
struct LinkLatency {
  double to_accelerator_seconds = 0;
  double to_host_seconds = 0;
};

/// Multiples of what is now; 1 lies inside, both ends included. No upper end is infinity.
struct Multiples {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

struct Sensitivity {
  Multiples bandwidth;  ///< of both directions, at the same latency
  Multiples latency;    ///< of both directions, at the same bandwidth
  Multiples speed;      ///< of all executions on the accelerator
};

/// What is varied.
enum class Varied : std::uint8_t { bandwidth, latency, speed };

/// The intervals in which no placement costs less than this one. A few re-solves an end. An Error for a malformed problem, one with a
/// memory capacity (under which nothing proves an optimum), or a placement that is not optimal as things are.
Result<Sensitivity> sensitivity(const PlacementProblem& problem, const Placement& placement, const LinkLatency& latency);

/// The problem as it is if one of them is another multiple of what it is now; positive.
PlacementProblem with_multiple(const PlacementProblem& problem, const LinkLatency& latency, Varied varied, double multiple);

}  // namespace cleave::planner
