// read_device_placement(): reads public device-placement workloads (Tarnawski et al., NeurIPS 2020) as placement problems. Internal to
// problem_json.
#pragma once

#include <functional>
#include <istream>

#include "graph/base/result.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Value i is the output of node i; nodes are in the order of the file.
Result<PlacementProblem> read_device_placement(std::istream& in, const std::function<void()>& pause);

}  // namespace cleave::planner
