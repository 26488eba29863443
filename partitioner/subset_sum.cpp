// The reachable sums, heaviest weights first, as a sorted list. When it grows too long the rest counts as divisible.
#include "partitioner/subset_sum.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace cleave {

double largest_sum_within(std::vector<double> weights, double capacity) {
  constexpr std::size_t kMostSums = 2000;
  std::sort(weights.begin(), weights.end(), std::greater<>());
  double rest = 0;
  for (const double weight : weights) rest += weight;
  if (rest <= capacity) return rest;
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

}  // namespace cleave
