// hoist-invariant: what a loop computes alike in every trip is computed once, before it.
#pragma once

#include "graph/graph.h"

namespace cleave {

/// Moves pure operations that read nothing of a loop to the region around it where they run least often, by the trips and probabilities in
/// `graph`; what stands in an arm that is seldom taken stays there. Locations, pins and allowances go along. Left in place: what may fail
/// for some data (the loop may have no trip), host functions and transfers (a warning says what they cost). The planner moves back what
/// costs less beside its readers in the loop (sink.h).
Graph hoist_invariant(Graph graph);

/// Whether a node may be computed anywhere, any number of times, with the same results and without a failure.
bool is_movable(const Graph& graph, NodeId id);

}  // namespace cleave
