// save_at_most(): an upper bound on what any fusion grouping could save, as a placement problem. Its minimum cut is a lower bound on the
// cost of every placement with every grouping.
#pragma once

#include "graph/graph.h"
#include "partitioner/machine/dataflow.h"
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

/// Replaces `problem.savings` by the following savings of each side:
/// - Starting a kernel: operations that could be put together form a graph. Those of a kernel are connected in it, so that n of them save n
/// - 1 starts, in each block of the graph (its biconnected components) one less than there are of them.
/// - Reads: an operation saves the read of a value that another operation of its kernel produces or reads. Of several readers, all save it
///   if the value is produced on that side, else all but one.
/// - Writes: a value is not written if only operations of its region read it, all of them on that side alone.
/// - Arithmetic that overlaps with memory traffic of other operations: in each connected component, the smaller of all arithmetic and all
///   waiting. An operation that only moves an operand of one other operation may cost nothing when fused with it. Operations that could
///   sink into a loop (sinking.h) count as free: in the loop they may cost nothing when fused with their readers. These then read the
///   operations' own operands, if those are smaller, and may be fused with each other. May append nodes to `problem` after those of the
///   graph.
void save_at_most(PlacementProblem& problem, const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable,
                  const std::vector<SideOfFusion>& sides);

}  // namespace cleave::planner
