// VirtualWorkers: when the worker threads of a run are free, on the virtual clock. As in the planner's schedule, work goes to the worker
// that is free first. Used by the host's thread only.
#pragma once

#include <algorithm>
#include <vector>

namespace cleave::runtime {

class VirtualWorkers {
 public:
  struct Interval {
    double begin = 0, end = 0;
  };

  /// Must be called before each run.
  void begin(int workers) { free_.assign(static_cast<std::size_t>(std::max(1, workers)), 0); }
  /// A worker takes over work of `seconds`, not before the time `now`.
  Interval take(double now, double seconds) {
    const auto free = std::min_element(free_.begin(), free_.end());
    const double begin = std::max(now, *free);
    *free = begin + seconds;
    return {begin, *free};
  }
  /// The work taken over last by one of the workers is not done after all.
  void give_back(const Interval& work) {
    const auto found = std::find(free_.begin(), free_.end(), work.end);
    if (found != free_.end()) *found = work.begin;
  }

 private:
  std::vector<double> free_;  ///< the time from which each worker is free
};

}  // namespace cleave::runtime
