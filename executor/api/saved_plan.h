// Saved plans: a plan file (partitioner/plan_file.h) with the setup of its executor, checked against this machine. load_plan() and the
// command line use it.
#pragma once

#include <string>

#include "executor/api/executable.h"
#include "executor/api/wiring.h"
#include "partitioner/plan_file.h"

namespace cleave::runtime {

struct SavedPlan {
  Plan plan;
  Wiring wiring;  ///< of the options with which the plan was made; what kernels derived from constants is in `executor.constants`
  planner::PlanSettings settings;
};

/// Reads and restores a plan. Loads no library and opens no device.
Result<SavedPlan> read_saved_plan(const std::string& path, const LoadOptions& options);

/// Whether a path names a plan file, by its ending.
[[nodiscard]] inline bool is_plan_path(std::string_view path) {
  return path.ends_with(".plan");
}

/// Executable::save for a plan that is complete() and its settings. Loads no library and opens no device. `threads`: of packing weights.
Status save_plan(const std::string& path, const Plan& plan, const planner::PlanSettings& settings, int threads, const Graph* model);

}  // namespace cleave::runtime
