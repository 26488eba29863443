// FusionSavings: what groups that run as one kernel save. Each saving belongs to one operation and requires a run of neighbors on its side,
// so that a group that is split into parts saves what the parts save. docs/placement.md says why.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel/fusible_group.h"
#include "partitioner/machine/machine.h"
#include "partitioner/machine/planner.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// Seconds for a node's memory traffic in one execution at the bandwidth of the side's memory. A repeated operand counts once, and an
/// operand that is read in part counts only for that part.
double traffic_seconds(const Graph& graph, NodeId node, const DeviceRates& rates);

class FusionSavings {
 public:
  explicit FusionSavings(const Graph& graph) : graph_(graph), readers_(count_uses(graph)) {}

  /// The cost of one execution of a node there. `computing` remains in a group, though perhaps overlapped with memory traffic; `spare` is
  /// the part of the rest (launch, waiting for memory) that a group may save.
  struct Seconds {
    double computing = 0, spare = 0;
  };
  using SecondsOf = std::function<Seconds(NodeId)>;
  void add(DeviceId side, const std::vector<FusibleGroup>& groups, const DeviceRates& rates, const SecondsOf& seconds_of);
  /// All savings added so far; savings of both sides with the same requirements are merged.
  std::vector<PlacementProblem::Saving> take();

 private:
  class Group;
  void add(DeviceId side, NodeId node, const std::vector<NodeId>& together, bool alone, double seconds);

  const Graph& graph_;
  std::vector<int> readers_;  ///< by value
  std::vector<PlacementProblem::Saving> savings_;
};

}  // namespace cleave::planner
