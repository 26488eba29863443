// hoist-invariant: moves loop-invariant computations out of loops.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Moves each pure operation that reads nothing of a loop to the enclosing region in which it runs least often, by the trip counts and
/// probabilities in `graph`; an operation in a rarely taken arm therefore stays there. Locations, pins and allowances are kept. Not moved:
/// operations that may fail for some data (the loop may have no iteration), host functions and transfers (a warning states their cost). The
/// planner moves an operation back if it costs less beside its readers in the loop (sink.h).
Graph hoist_invariant(Graph graph);

/// Whether a node may be computed anywhere, any number of times, with the same results and without a failure.
bool is_movable(const Graph& graph, NodeId id);

}  // namespace cleave
