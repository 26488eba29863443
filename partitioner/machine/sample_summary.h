// What many times of one thing are summed up as: a median and a spread, of samples that each stand for several. Observation sums up the
// samples of a run with it, merge_profiles() the summaries of several runs.
#pragma once

#include <vector>

namespace cleave::planner {

/// A time, and how many samples it stands for.
struct WeightedTime {
  double seconds = 0, weight = 1;
};

struct MedianAndSpread {
  double median = 0;  ///< seconds
  double spread = 0;  ///< seconds: the median absolute deviation from `median`
};

/// The weighted median: half of the weight lies on either side; the mean of the two in the middle where the half ends between them. At
/// least one time with a weight above 0.
double weighted_median(std::vector<WeightedTime> times);
MedianAndSpread median_and_spread(std::vector<WeightedTime> times);

}  // namespace cleave::planner
