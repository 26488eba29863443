// save_at_most(): an upper bound on what any fusion grouping could save, as a placement problem. Its minimum cut is a lower bound on the
// cost of every placement with every grouping.
#pragma once

#include "graph/graph.h"
#include "graph/passes/dataflow.h"
#include "partitioner/machine/fusion_savings.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// The fusion properties of one side: `takes` is its fusion rule, `seconds_of` gives the parts of a node's execution time there.
struct SideOfFusion {
  DeviceId device;
  const FusionRule& takes;
  const DeviceRates& rates;
  FusionSavings::SecondsOf seconds_of;
};

/// Replaces `problem.savings`; may append nodes to `problem` after those of the graph. Each side saves at most:
/// - Launches: operations that could be fused form a graph. The n operations of a kernel are connected in it and save n - 1 launches; in
///   each block of the graph (biconnected component), a kernel saves one launch less than it has operations there.
/// - Reads: an operation saves the read of a value that another operation of its kernel produces or reads. Of several readers, all save it
///   if the value is produced on that side, else all but one.
/// - Writes: a value is not written if only operations of its region read it, all of them on that side alone.
/// - Arithmetic that overlaps with memory traffic of other operations: in each connected component, the smaller of all arithmetic and all
///   waiting.
/// - Moves: an operation that only moves an operand of one other operation may cost nothing when fused with it.
/// - Sinking: no cost of an operation that could sink into a loop (sinking.h) is counted. Fused with its readers there it may cost nothing;
///   they then read its operands, if these are smaller, and may be fused with each other through it.
void save_at_most(PlacementProblem& problem, const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable,
                  const std::vector<SideOfFusion>& sides);

}  // namespace cleave::planner
