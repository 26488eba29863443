// `explain --diff`: compares a plan with an earlier one, read from a document of `explain --json`: which operations changed sides and why,
// which transfers are new or gone, and the predicted times. Nodes are identified by their statement paths, so inserted lines do not matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partitioner/plan.h"

namespace cleave::planner {

struct PlanDiff {
  struct Moved {
    NodeId node;
    std::string was, is;           ///< sides
    std::vector<std::string> why;  ///< other differences between the two plans' nodes, in words
  };
  struct Transfer {
    std::string statement, to, within;
    double bytes = 0, frequency = 0, seconds = 0;
  };
  std::string was_machine;  ///< its name
  double predicted_seconds = 0, was_predicted_seconds = 0;
  double objective_seconds = 0, was_objective_seconds = 0;
  std::vector<Moved> moved;
  std::vector<NodeId> fresh;      ///< operations that are new
  std::vector<std::string> gone;  ///< paths of operations that no longer exist
  std::vector<Transfer> gained, lost;
};

/// Returns an Error (file) if `text`, read from `file`, is no document of `explain --json`.
Result<PlanDiff> diff_with(const Plan& plan, std::string_view text, const std::string& file);
std::string to_text(const PlanDiff& diff, const Plan& plan);
std::string to_json(const PlanDiff& diff, const Plan& plan);

}  // namespace cleave::planner
