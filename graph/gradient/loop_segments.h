// Segments of loops: a loop that saves a row of each trip for its gradient can save its carried values at every k-th trip instead. The loop
// of the gradient then computes k trips again before it goes through them backwards. find_stacked_loops() finds such pairs of loops and
// divide_loop() rewrites one; which loop, and with what k, is the planner's decision. Nested loops are not divided for the loop around
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// A `for` with a known number of trips that fills stacks, arrays with a row for each trip, and one of as many trips that reads their rows
/// from the last to the first.
struct StackedLoop {
  NodeId forward, backward;
  std::int64_t trips = 0;
  std::vector<NodeId> stacks;  ///< carried nodes of `forward` whose rows can be computed again
  std::vector<NodeId> states;  ///< carried nodes of `forward` from which they are
  std::vector<NodeId> again;   ///< the operations of a trip that give them and the next states, in program order
};

/// In program order; loops of which nothing can be computed again are left out.
std::vector<StackedLoop> find_stacked_loops(const Graph& graph);

/// Divides the trips into segments of `every` trips, from 1 to the number of trips. All results keep their bits. Nodes are numbered anew.
Graph divide_loop(Graph graph, const StackedLoop& loop, std::int64_t every);

}  // namespace cleave
