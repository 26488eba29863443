// gather-calls: reorders independent calls of host functions next to each other, so that they can overlap.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Largest number of calls in a group. It bounds the memory of their results, which are live at the same time.
inline constexpr int kCallsTogether = 8;

/// Orders each region in waves, if that groups independent calls that overlap with the program (HostFunction::beside with `workers`
/// threads). A wave consists of the nodes that its calls need, then the calls, then the nodes that run beside them. Readers of a call's
/// result belong to a later wave. No node moves across an effect, and effects keep their order.
Graph gather_calls(Graph graph, int workers);

}  // namespace cleave
