// What groups that run as one kernel save, as numbers: each saving belongs to one operation and needs a row of neighbours on its side, so
// that what is left of a group in parts saves what the parts do. docs/placement.md says why.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/fusion.h"
#include "partitioner/machine/machine.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

/// What a node reads and writes in one execution, at the rate of the side's memory: a value that is an operand twice once, and of an
/// operand of which a part is moved no more than that part.
double traffic_seconds(const Graph& graph, NodeId node, const DeviceRates& rates);

class FusionSavings {
 public:
  explicit FusionSavings(const Graph& graph) : graph_(graph), readers_(count_uses(graph)) {}

  /// An execution of a node there: `computing` is done in a group too, though perhaps while memory is waited for; `spare` is what a group
  /// may save of the rest, starting and waiting.
  struct Seconds {
    double computing = 0, spare = 0;
  };
  using SecondsOf = std::function<Seconds(NodeId)>;
  void add(DeviceId side, const std::vector<FusibleGroup>& groups, const DeviceRates& rates, const SecondsOf& seconds_of);
  /// All of them, those of both sides as one where they need the same.
  std::vector<PlacementProblem::Saving> take();

 private:
  class Group;
  void add(DeviceId side, NodeId node, const std::vector<NodeId>& together, bool alone, double seconds);

  const Graph& graph_;
  std::vector<int> readers_;  ///< by value
  std::vector<PlacementProblem::Saving> savings_;
};

}  // namespace cleave::planner
