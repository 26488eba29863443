// Weighted median and spread of the times of one operation or transfer. Observation summarizes the samples of a run with it,
// merge_profiles() the summaries of several runs.
#pragma once

#include <vector>

namespace cleave::planner {

/// A time, and the number of samples that it represents.
struct WeightedTime {
  double seconds = 0, weight = 1;
};

struct MedianAndSpread {
  double median = 0;  ///< seconds
  double spread = 0;  ///< seconds: the median absolute deviation from `median`
};

/// The weighted median: half of the weight is on either side. If the half ends exactly between two times, their mean. Needs at least one
/// time with a weight above 0.
double weighted_median(std::vector<WeightedTime> times);
MedianAndSpread median_and_spread(std::vector<WeightedTime> times);

}  // namespace cleave::planner
