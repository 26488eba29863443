// `explain --sensitivity`: the ranges of the machine in which the plan stays the same, as text and as JSON.
#pragma once

#include <string>

#include "partitioner/advice/machine_ranges.h"
#include "partitioner/plan.h"

namespace cleave::planner {

std::string to_text(const MachineRanges& report, const Plan& plan);
std::string to_json(const MachineRanges& report, const Plan& plan);

}  // namespace cleave::planner
