// cut_within_capacity(): minimum cuts whose sink side must not exceed a capacity, the accelerator's memory. A Lagrangian price per byte is
// found by intersecting the cost lines of two solutions and shrinking the network to the vertices on which they differ; branch and bound
// over cuts closes the remaining gap. Knows only networks and weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {

struct CapacityOptions {
  Solver solver = Solver::flat;
  int max_branches = 2000;  ///< nodes of the search tree
  double tolerance = 1e-5;  ///< stop at this relative gap
  double max_work = 3e8;  ///< most vertices and arcs in all solver calls together: a limit on the time that does not depend on the machine
};

struct CapacityCut {
  std::vector<bool> source_side;
  std::int64_t value = 0;  ///< value of this cut
  double bound = 0;        ///< lower bound on every cut within the capacity
};

/// Nothing if even the lightest sink side is too heavy. `weights` are per vertex and not negative; `unavoidable` is the part of the
/// capacity that is used already.
std::optional<CapacityCut> cut_within_capacity(const CutNetwork& network, const std::vector<double>& weights, double unavoidable,
                                               double capacity, const CapacityOptions& options = {});

}  // namespace cleave::planner
