// Applies a placement: Graph + Placement + Transfers -> Program. Decides nothing.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "partitioner/placement.h"
#include "partitioner/program.h"
#include "partitioner/transfers.h"

namespace cleave {

Program split(std::shared_ptr<const Graph> graph, const Placement& placement, const Transfers& transfers);

}  // namespace cleave
