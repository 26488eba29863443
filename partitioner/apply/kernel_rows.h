// The position of fused kernels in a program's order: all operations of a kernel move to the position of its first one. order_for() finds
// an order in which that is possible. Nothing here decides placement or fusion.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/machine/planner.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// The parts of the fusible groups that remain on each side under a placement.
FusibleGroups kernels_of(const FusibleGroups& groups, const Placement& placement);

/// The operation at whose position the whole kernel is executed: the first that is neither pulled nor waiting (FusibleGroup).
NodeId first_of(const FusibleGroup& kernel, const ValueUses& uses);

/// An order of nodes in which all operands of each kernel exist at its first operation; it keeps the program's order except for nodes that
/// must come earlier. Empty if the program's own order already has that property. Kernels of one side never depend on each other in a
/// cycle. Kernels of both sides may, because each side's groups are found separately; then one is removed from `kernels`.
std::optional<ValueUses> order_for(const Graph& graph, const ValueUses& uses, FusibleGroups& kernels);

/// Splits kernels that would delay a host call which overlaps other steps (HostFunction::beside, with this number of `workers`): those
/// in which one operation waits for such a call while another is needed by a call that could begin earlier.
void part_at_calls(const Graph& graph, int workers, FusibleGroups& kernels);

}  // namespace cleave::planner
