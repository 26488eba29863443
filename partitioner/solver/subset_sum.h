// largest_sum_within(): how much of a capacity indivisible weights can use at most.
#pragma once

#include <vector>

namespace cleave::planner {

/// An upper bound, at most `capacity`, on the sums of subsets of `weights` that do not pass `capacity`; exact where few different sums
/// exist. Many small weights are treated as divisible.
double largest_sum_within(std::vector<double> weights, double capacity);

}  // namespace cleave::planner
