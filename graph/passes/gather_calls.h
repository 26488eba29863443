// gather-calls: independent calls of host functions stand together, so that they can be under way together.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// How many calls are brought together at most: what they give has to be kept at the same time.
inline constexpr int kCallsTogether = 8;

/// Orders each region in waves where that brings calls together that do not depend on each other and, with so many `workers`, go on beside
/// the program (HostFunction::beside): of each wave first what its calls need, then the calls, then what goes on beside them. What reads a
/// result stands in a later wave. Nothing crosses an effect, and effects keep their order.
Graph gather_calls(Graph graph, int workers);

}  // namespace cleave
