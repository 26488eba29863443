// find_fusible(): which operations run as one kernel where they have copies on one side, from the dataflow and the side's fusion rule. The
// plan subtracts what fusion saves (machine/costs.h), makes the steps adjacent and records the groups in the Program (apply/split.h); the
// executor compiles exactly these kernels. So what runs is what the plan assumed.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "graph/passes/dataflow.h"
#include "partitioner/machine/planner.h"

namespace cleave::planner {

/// Grows several groups at once, one operation at a time, as long as `takes` accepts them. Groups never depend on each other in a cycle.
/// They depend on the dataflow alone, not on the order of statements, on names or on pins. `may`: which operations may be in a group on
/// `side`; null: all except those that certainly run elsewhere (effects, host functions, transfers to the other side).
std::vector<FusibleGroup> find_fusible(const Graph& graph, const Dataflow& dataflow, DeviceId side, const FusionRule& takes,
                                       const std::function<bool(NodeId)>& may = nullptr);

}  // namespace cleave::planner
