// What a program cannot be faster than, whoever runs it: what its plan moves over the link and through the accelerator's memory, and what
// it computes there, at the machine's peak rates. Nothing modelled is in it, such as what a launch takes or what part of a peak is reached.
#pragma once

#include <algorithm>
#include <map>

#include "partitioner/compile.h"

namespace cleave::bench {

/// Of one run.
struct DeviceBounds {
  double link_bytes_to_accelerator = 0, link_bytes_to_host = 0;
  double flops = 0;         ///< on the accelerator
  double memory_bytes = 0;  ///< of the accelerator: of arrays that no cache of its holds, which fused kernels read and write once
  double link_seconds = 0, compute_seconds = 0, memory_seconds = 0;

  /// Of what costs alike: the part that it has in the sums above. A fused kernel's memory is its last operation's.
  struct Family {
    double flops = 0, memory_bytes = 0, compute_seconds = 0, memory_seconds = 0;
    [[nodiscard]] double seconds() const { return std::max(compute_seconds, memory_seconds); }
  };
  std::map<CostClass, Family> families;

  /// The largest: all of them may overlap.
  [[nodiscard]] double seconds() const;
};

DeviceBounds find_bounds(const Plan& plan);

}  // namespace cleave::bench
