// Problems for several accelerators from the fields of a problem file, and their placements as JSON, for `cleave plan`.
#pragma once

#include <string>

#include "partitioner/devices/device_problem.h"
#include "partitioner/devices/placed_devices.h"
#include "partitioner/solver/problem_json.h"

namespace cleave::planner {

/// The problem for `count` accelerators, or for as many as the file lists if `count` is 0 (one if it lists none). The capacity
/// `accelerator_memory_bytes` is that of each accelerator whose own memory the file does not give. An Error if the file lists another
/// number, or a list has not one number an accelerator.
Result<DeviceProblem> device_problem(LoadedProblem loaded, std::size_t count);

/// {objective_seconds, bound_seconds, gap, nodes, transfers: [{value, direction, from, to, region}], solve_seconds}
std::string placed_devices_json(const std::vector<std::int32_t>& region_in_file, const PlacedDevices& placement);

}  // namespace cleave::planner
