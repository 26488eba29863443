// Operations that run on the host only because the accelerator has no kernel for them, with the saving of such a kernel. advise_kernels()
// finds the saving by planning the program as if it had the kernel (trials.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partitioner/plan.h"

namespace cleave::planner {

/// A missing kernel, of an op or of a host function.
struct KernelAdvice {
  std::string name;
  std::vector<NodeId> nodes;            ///< nodes that could move to the accelerator with it
  double host_seconds = 0;              ///< in a run
  std::optional<double> saved_seconds;  ///< predicted saving in a run; empty: not tried
};

/// Sorted by saving, largest first; kernels that were not tried come last.
std::vector<KernelAdvice> advise_kernels(const Plan& plan, const CostModel& costs);

}  // namespace cleave::planner
