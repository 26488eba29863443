// Where what runs as one kernel stands: all of it where its first operation does. Decides nothing but an order.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/fusion.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

/// What is left of the groups under a placement.
FusibleGroups kernels_of(const FusibleGroups& groups, const Placement& placement);

/// The operation of a kernel in whose place all of it is done: the first that neither is pulled nor waits.
NodeId first_of(const FusibleGroup& kernel, const ValueUses& uses);

/// Where everything stands if each kernel finds what it reads at its first operation: in the program's order, but for what has to come
/// before. Nothing if the program has it so already. Kernels of one side never wait for each other in a circle; if one of each side do,
/// since each side's were found by themselves, one is taken out of `kernels`.
std::optional<ValueUses> order_for(const Graph& graph, const ValueUses& uses, FusibleGroups& kernels);

/// Parts kernels that would keep a call from running beside others (HostFunction::beside, with so many `workers`): of which one operation
/// waits for such a call, while another one is waited for by a call that does not.
void part_at_calls(const Graph& graph, int workers, FusibleGroups& kernels);

}  // namespace cleave::planner
