// split(): turns a placed graph (Graph, Placement, Transfers) into a Program. All decisions are made before; it only applies them.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>

#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/apply/program.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/planner.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// The largest `ahead` of split(), the number of arguments to receive before their use. Inputs, parameters and literals are sent first of
/// all, in the order in which the accelerator first reads them. The accelerator receives each at the first read of the argument `ahead`
/// places earlier in that order, and the first `ahead` ones at once. So copies overlap with independent work, and an argument takes no
/// memory before it is received.
inline constexpr std::size_t kAllAhead = std::numeric_limits<std::size_t>::max();
/// Makes the Program of a placement. Results of host calls that overlap other steps (runs_beside, with this number of `workers`) are
/// sent where they are received, or before the host's next other work, not earlier. The operations of a fused kernel, a group of `fusible`,
/// become adjacent steps at the position of the first one, and the program lists them in `kernels`.
Program split(std::shared_ptr<const Graph> graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers,
              std::size_t ahead = kAllAhead, const FusibleGroups& fusible = {}, int workers = 1);

}  // namespace cleave::planner
