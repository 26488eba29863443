// Keeps the reachable sums as a sorted list; adds the heaviest weights first, and equal weights in pieces of several. If the list grows too
// long, the remaining weights are treated as divisible.
#include "partitioner/solver/subset_sum.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace cleave::planner {

namespace {

/// Replaces m equal weights by pieces of 1, 2, 4, ... of them and of the remainder, which have the same sums. Heaviest weights first.
std::vector<double> pieces(const std::vector<double>& sorted) {
  std::vector<double> result;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    std::size_t left = end - i;
    for (std::size_t taken = 1; left > 0; taken = std::min(2 * taken, left)) {
      taken = std::min(taken, left);
      result.push_back(static_cast<double>(taken) * sorted[i]);
      left -= taken;
    }
    i = end;
  }
  return result;
}

}  // namespace

double largest_sum_within(std::vector<double> weights, double capacity) {
  constexpr std::size_t kMostSums = 2000;
  std::sort(weights.begin(), weights.end(), std::greater<>());
  double rest = 0;
  for (const double weight : weights) rest += weight;
  if (rest <= capacity) return rest;
  weights = pieces(weights);
  std::vector<double> sums{0}, moved, merged;
  for (const double weight : weights) {
    if (weight <= 0 || sums.size() > kMostSums) break;
    rest -= weight;
    moved.clear();
    for (const double sum : sums) {
      if (sum + weight <= capacity) moved.push_back(sum + weight);
    }
    merged.clear();
    std::set_union(sums.begin(), sums.end(), moved.begin(), moved.end(), std::back_inserter(merged));
    sums.swap(merged);
  }
  return std::min(capacity, sums.back() + rest);
}

}  // namespace cleave::planner
