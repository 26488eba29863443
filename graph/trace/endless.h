// Detection of endless loops from constants: evaluates the condition's inputs iteration by iteration, until the condition is false or an
// iteration changes nothing.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Whether the condition of a `while` stays true forever for every input. False if that depends on inputs or parameters, on host functions,
/// random numbers, or inner branches or loops, or is undecided after a limited number of iterations.
bool cannot_end(const Graph& graph, NodeId loop);

}  // namespace cleave
