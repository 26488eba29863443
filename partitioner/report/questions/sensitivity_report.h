// `explain --sensitivity`: how far link and accelerator may be other than the machine file says before the plan is another one, and what
// changes there first. The solver finds the ranges; here they are put into words.
#pragma once

#include <string>
#include <vector>

#include "partitioner/compile.h"
#include "partitioner/solver/sensitivity.h"

namespace cleave::planner {

struct SensitivityReport {
  /// An end of a range, and which operations are placed otherwise just behind it.
  struct Edge {
    double multiple = 0;
    bool upper = false;
    std::vector<NodeId> to_host, to_accelerator;  ///< lose or gain their copy on the accelerator
  };
  struct Range {
    Varied varied = Varied::bandwidth;
    Multiples multiples;
    std::vector<Edge> edges;  ///< those ends that there are, the lower one first
  };
  std::vector<Range> ranges;
};

/// An Error where there is no such range: the plan is not the least sum, or memory decides.
Result<SensitivityReport> sensitivity_report(const Plan& plan);
std::string to_text(const SensitivityReport& report, const Plan& plan);
std::string to_json(const SensitivityReport& report, const Plan& plan);

}  // namespace cleave::planner
