// Applies a placement: Graph + Placement + Transfers -> Program. Decides nothing.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>

#include "graph/graph.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/fusion.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// Inputs, parameters and literals are sent before anything else, in the order in which the accelerator first reads them. It receives each
/// when it comes to the first reading of the one that is `ahead` places before, the first `ahead` at once: copies overlap with work that
/// does not need them, and what has not been received takes no memory there.
inline constexpr std::size_t kAllAhead = std::numeric_limits<std::size_t>::max();
/// What a call gives that runs beside the host's steps (runs_beside, with so many `workers`) is sent when it is received, or before the
/// host turns to other work, not sooner.
/// What runs as one kernel of the `fusible` groups stands side by side, where the first of it stands, and is noted in the program.
Program split(std::shared_ptr<const Graph> graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers,
              std::size_t ahead = kAllAhead, const FusibleGroups& fusible = {}, int workers = 1);

}  // namespace cleave::planner
