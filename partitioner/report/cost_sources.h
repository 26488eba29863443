// Says in words where the costs of a plan come from: measurements, classes of operations or rates.
#pragma once

#include <string>

#include "partitioner/plan.h"

namespace cleave::planner {

/// A line such as "costs: 41 measured, 3 by their class (sort, take)\n", which counts each operation on the side where it runs. Empty if
/// all costs are by rates, since the machine's provenance says enough then.
std::string cost_sources(const Plan& plan);

}  // namespace cleave::planner
