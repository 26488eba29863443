// sensitivity(): how far the link or the accelerator may change before another placement becomes cheaper, as exact intervals of bandwidth,
// latency and accelerator speed. The cost of a transfer is split into a latency part and a size part; one part is varied at a time.
#pragma once

#include <cstdint>
#include <limits>

#include "graph/base/result.h"
#include "partitioner/solver/placement.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Seconds per transfer in each direction that do not depend on its size. A transfer that costs less than this is all latency.
struct LinkLatency {
  double to_accelerator_seconds = 0;
  double to_host_seconds = 0;
};

/// An interval of factors on the present value; both ends included, 1 is inside. Infinity: there is no upper end.
struct Multiples {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

struct Sensitivity {
  Multiples bandwidth;  ///< bandwidth in both directions, at constant latency
  Multiples latency;    ///< latency in both directions, at constant bandwidth
  Multiples speed;      ///< speed of all executions on the accelerator
};

/// The quantity that is varied.
enum class Varied : std::uint8_t { bandwidth, latency, speed };

/// The intervals in which no placement costs less than this one. Each end takes a few re-solves. An Error for a malformed problem, for one
/// with a memory capacity (under which no optimum is proven), or for a placement that is not optimal at factor 1.
Result<Sensitivity> sensitivity(const PlacementProblem& problem, const Placement& placement, const LinkLatency& latency);

/// The problem with one of these quantities multiplied by `multiple`, which is positive.
PlacementProblem with_multiple(const PlacementProblem& problem, const LinkLatency& latency, Varied varied, double multiple);

}  // namespace cleave::planner
