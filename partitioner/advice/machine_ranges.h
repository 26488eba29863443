// How far link and accelerator may differ from the machine file before the plan changes, and which operations change first.
#pragma once

#include <vector>

#include "partitioner/advice/sensitivity.h"
#include "partitioner/plan.h"

namespace cleave::planner {

struct MachineRanges {
  /// An end of a range, and the operations that are placed differently just beyond it.
  struct Edge {
    double multiple = 0;
    bool upper = false;
    std::vector<NodeId> to_host, to_accelerator;  ///< operations that lose or gain a copy on the accelerator
  };
  struct Range {
    Varied varied = Varied::bandwidth;
    Multiples multiples;
    std::vector<Edge> edges;  ///< the ends that exist, the lower one first
  };
  std::vector<Range> ranges;
};

/// Returns an Error if there are no ranges: because the plan is not the minimum of the sum, or because memory determines it.
Result<MachineRanges> find_machine_ranges(const Plan& plan);

}  // namespace cleave::planner
