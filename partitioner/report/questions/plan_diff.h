// `explain --diff`: a plan beside an earlier one, as `explain --json` wrote it: what moved and why, what moves no longer or moves now, and
// what is predicted of a run. Nodes are the same if their statement paths are, so that inserted lines change nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partitioner/compile.h"

namespace cleave::planner {

struct PlanDiff {
  struct Moved {
    NodeId node;
    std::string was, is;           ///< sides
    std::vector<std::string> why;  ///< what else is otherwise about it, in words
  };
  struct Transfer {
    std::string statement, to, within;
    double bytes = 0, frequency = 0, seconds = 0;
  };
  std::string was_machine;  ///< its name
  double predicted_seconds = 0, was_predicted_seconds = 0;
  double objective_seconds = 0, was_objective_seconds = 0;
  std::vector<Moved> moved;
  std::vector<NodeId> fresh;      ///< operations that were not there
  std::vector<std::string> gone;  ///< operations that were, by path
  std::vector<Transfer> gained, lost;
};

/// An Error (file) where `text`, read from `file`, is no document of `explain --json`.
Result<PlanDiff> diff_with(const Plan& plan, std::string_view text, const std::string& file);
std::string to_text(const PlanDiff& diff, const Plan& plan);
std::string to_json(const PlanDiff& diff, const Plan& plan);

}  // namespace cleave::planner
