// A plan's placement problem, solved once more by two solvers that share no code below the network: cleave's own, and Boost.Graph's, which
// is given the network without any reduction. For `check --certify`.
#pragma once

#include "graph/base/result.h"
#include "partitioner/plan.h"

namespace cleave::planner {

struct Certificate {
  double own_seconds = 0, boost_seconds = 0;              ///< the cost of the solution of each solver, a run
  double own_bound_seconds = 0, boost_bound_seconds = 0;  ///< the value of each cut: no placement of the problem costs less
  bool same_placement = false;                            ///< both put every node on the same sides

  /// True if cost and bound are equal within rounding, or, under a capacity of memory, if each cost is at least the other solver's bound.
  [[nodiscard]] bool agree() const;
};

/// Errors are those of the solvers.
Result<Certificate> certify(const Plan& plan);

}  // namespace cleave::planner
