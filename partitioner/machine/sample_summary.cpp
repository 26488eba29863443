#include "partitioner/machine/sample_summary.h"

#include <algorithm>
#include <cmath>

namespace cleave::planner {

double weighted_median(std::vector<WeightedTime> times) {
  std::sort(times.begin(), times.end(), [](const WeightedTime& a, const WeightedTime& b) { return a.seconds < b.seconds; });
  double half = 0;
  for (const WeightedTime& time : times) half += time.weight / 2;
  const double tolerance = 1e-9 * half;  // thirds do not sum up to a whole
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    half -= times[i].weight;
    if (std::abs(half) <= tolerance) return (times[i].seconds + times[i + 1].seconds) / 2;
    if (half < 0) return times[i].seconds;
  }
  return times.back().seconds;
}

MedianAndSpread median_and_spread(std::vector<WeightedTime> times) {
  MedianAndSpread result;
  result.median = weighted_median(times);
  for (WeightedTime& time : times) time.seconds = std::abs(time.seconds - result.median);
  result.spread = weighted_median(std::move(times));
  return result;
}

}  // namespace cleave::planner
