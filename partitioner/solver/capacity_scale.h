// CapacityScale: converts seconds to the integer capacities that a minimum cut needs. Knows the costs of a problem, no network.
#pragma once

#include <cmath>
#include <cstdint>

#include "partitioner/solver/problem.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

/// Its unit is the finest power of two in which the sum of all capacities stays below 2^62.
class CapacityScale {
 public:
  explicit CapacityScale(const PlacementProblem& problem, const UsesByValue& uses);
  /// The nearest even number, so that it can be halved; never 0 for a positive cost, so that the cut avoids even the smallest costs.
  [[nodiscard]] std::int64_t units(double seconds) const;
  [[nodiscard]] double seconds(std::int64_t units) const { return std::ldexp(static_cast<double>(units), exponent_); }
  /// Bound on the rounding error of the sum of the problem's capacities, in seconds.
  [[nodiscard]] double rounding() const { return std::ldexp(static_cast<double>(terms_), exponent_); }

 private:
  int exponent_ = 0;
  double per_second_ = 1;  ///< 2^-exponent
  std::int64_t terms_ = 0;
};

}  // namespace cleave::planner
