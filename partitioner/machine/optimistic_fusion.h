// The most that any grouping into kernels could save, as a placement problem: its minimum cut is below every placement with every grouping.
#pragma once

#include "graph/graph.h"
#include "partitioner/machine/dataflow.h"
#include "partitioner/machine/fusion_savings.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/sinking.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// What one side's kernels could save at most. `takes` is that side's rule, `seconds_of` what an execution of a node there consists of.
struct SideOfFusion {
  DeviceId device;
  const FusionRule& takes;
  const DeviceRates& rates;
  FusionSavings::SecondsOf seconds_of;
};

/// Takes the place of `problem.savings`. Of each side:
/// - Starting a kernel: operations that could be put together form a graph. Those of a kernel are connected in it, so that n of them save
///   n - 1 starts, in each block of the graph (its biconnected components) one less than there are of them.
/// - Reading: whoever reads a value that another one in its kernel makes or reads saves that; of several readers all, if the value is made
///   on that side, else all but one.
/// - Writing: a value that only operations of its region read, all of them on that side alone.
/// - Computing while another one waits for memory: all of it, or all the waiting, whichever is less in what hangs together.
/// An operation that only moves what one other reads need not be done at all beside that. Of what could sink into a loop (sinking.h),
/// nothing is counted: there it may cost nothing beside its readers, which then read what it reads, if that is less, and are put together
/// by it. Nodes of `problem` may be added behind those of the graph.
void save_at_most(PlacementProblem& problem, const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable,
                  const std::vector<SideOfFusion>& sides);

}  // namespace cleave::planner
