// Minimum cuts whose sink side must not weigh more than a capacity: the accelerator's memory. Lagrangian price for a byte, found by
// intersecting the lines of two solutions and shrinking the network to what they disagree on; then branch and bound over cuts. Knows only
// networks and weights.
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
  double max_work = 3e8;    ///< vertices and arcs handed to the solver, in all: bounds the time, equally on every machine
};

struct CapacityCut {
  std::vector<bool> source_side;
  std::int64_t value = 0;  ///< of this cut
  double bound = 0;        ///< no cut within the capacity is cheaper
};

/// Nothing if even the lightest sink side is too heavy. `weights` are per vertex, not negative; `unavoidable` is already used.
std::optional<CapacityCut> cut_within_capacity(const CutNetwork& network, const std::vector<double>& weights, double unavoidable,
                                               double capacity, const CapacityOptions& options = {});

}  // namespace cleave::planner
