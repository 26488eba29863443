// How much of a capacity can be used at all, when what is put there comes in given pieces.
#pragma once

#include <vector>

namespace cleave::planner {

/// An upper bound, at most `capacity`, on the sums of subsets of `weights` that do not pass `capacity`; exact where few different sums
/// exist. Many small weights count as if they could be divided.
double largest_sum_within(std::vector<double> weights, double capacity);

}  // namespace cleave::planner
