// Lower bounds on the time of a program, for any executor: its plan's traffic over the link and through the accelerator's memory, and its
// arithmetic, at the machine's peak rates. Modeled overheads, such as launches or attainable fractions of a peak, are not included.
#pragma once

#include <algorithm>
#include <map>

#include "partitioner/compile.h"

namespace cleave::bench {

/// Bounds for one run.
struct DeviceBounds {
  double link_bytes_to_accelerator = 0, link_bytes_to_host = 0;
  double flops = 0;         ///< on the accelerator
  double memory_bytes = 0;  ///< accelerator memory traffic: arrays too large for caches, read and written once by fused kernels
  double link_seconds = 0, compute_seconds = 0, memory_seconds = 0;

  /// The part of the sums above that belongs to one cost class. A fused kernel's memory traffic belongs to the class of its last operation.
  struct Family {
    double flops = 0, memory_bytes = 0, compute_seconds = 0, memory_seconds = 0;
    [[nodiscard]] double seconds() const { return std::max(compute_seconds, memory_seconds); }
  };
  std::map<CostClass, Family> families;

  /// The largest of the three times, since all of them may overlap.
  [[nodiscard]] double seconds() const;
};

DeviceBounds find_bounds(const Plan& plan);

}  // namespace cleave::bench
