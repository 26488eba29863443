// Loops that cannot end, known from their constants: what the condition reads is computed trip by trip, until it is false, or until a trip
// leaves everything as it was.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Whether the condition of a `while` is true for ever, whatever the program is given. False where that depends on inputs or parameters, on
/// host functions, random numbers, branches or loops inside, or is not settled after some trips.
bool cannot_end(const Graph& graph, NodeId loop);

}  // namespace cleave
