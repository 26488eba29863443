// sink_into_loops(): moves operations from in front of a loop into it where they cost less as parts of their readers' kernels, and solves
// the program that results.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "partitioner/apply/changed_program.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// Empty if nothing is worth sinking, that is, if no placement of the sunk program costs less than `optimum`.
std::optional<ChangedProgram> sink_into_loops(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                              const Sinkable& sinkable, const Placement& optimum);

}  // namespace cleave::planner
