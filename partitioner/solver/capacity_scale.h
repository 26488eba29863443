// CapacityScale: seconds as the integers that a minimum cut needs. Knows the costs of a problem, no network.
#pragma once

#include <cmath>
#include <cstdint>

#include "partitioner/solver/problem.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

/// Seconds as integers: the finest power of two as unit in which the sum of all capacities stays below 2^62.
class CapacityScale {
 public:
  explicit CapacityScale(const PlacementProblem& problem, const UsesByValue& uses);
  /// The nearest even number, so that it can be halved; never 0 for a positive cost, so that what costs anything is avoided.
  [[nodiscard]] std::int64_t units(double seconds) const;
  [[nodiscard]] double seconds(std::int64_t units) const { return std::ldexp(static_cast<double>(units), exponent_); }
  /// How far the sum of the problem's capacities may be off because each was rounded.
  [[nodiscard]] double rounding() const { return std::ldexp(static_cast<double>(terms_), exponent_); }

 private:
  int exponent_ = 0;
  double per_second_ = 1;  ///< 2^-exponent
  std::int64_t terms_ = 0;
};

}  // namespace cleave::planner
