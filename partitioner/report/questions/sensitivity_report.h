// `explain --sensitivity`: how far link and accelerator may differ from the machine file before the plan changes, and which operations
// change first. The solver finds the ranges; this puts them into words.
#pragma once

#include <string>
#include <vector>

#include "partitioner/compile.h"
#include "partitioner/solver/sensitivity.h"

namespace cleave::planner {

struct SensitivityReport {
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
Result<SensitivityReport> sensitivity_report(const Plan& plan);
std::string to_text(const SensitivityReport& report, const Plan& plan);
std::string to_json(const SensitivityReport& report, const Plan& plan);

}  // namespace cleave::planner
