// Where the costs of a plan come from, in words: which were measured.
#pragma once

#include <string>

#include "partitioner/compile.h"

namespace cleave::planner {

/// A line, of the operations where they run: "costs: 41 measured, 3 by their class (sort, take)\n". Nothing where all costs are by rates,
/// as the machine's provenance says enough then.
std::string cost_sources(const Plan& plan);

}  // namespace cleave::planner
