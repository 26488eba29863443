// Sinking: operations in front of a loop whose results only that loop reads. hoist-invariant moves what it can to where it runs least
// often; beside its readers in the loop, as part of their kernel, an operation may yet cost less. Knows where each could stand, what it
// would have to read there, and which of them look worth it under a placement; graph/passes/sink.h moves them.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/passes/sink.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

class Sinkable {
 public:
  /// Nothing of `graph` can sink.
  explicit Sinkable(const Graph& graph) : into_(graph.nodes.size()) {}
  /// `frequency`: by region, executions a run.
  Sinkable(const Graph& graph, const ValueUses& uses, const IdVector<RegionId, double>& frequency);

  [[nodiscard]] bool any() const { return any_; }
  /// The region that holds all readers, if it runs more often than the node's own, and none on the way to it less often; none: the node
  /// stays where it is. Readers that could themselves sink count as if they did.
  [[nodiscard]] RegionId into(NodeId node) const { return into_[node]; }
  /// The least that a kernel in that region has to read, for each execution, in order to compute the node instead of reading its result:
  /// what others in the region read or make anyway is not counted.
  [[nodiscard]] double least_bytes(NodeId node) const { return least_bytes_[node]; }

 private:
  class Finder;

  IdVector<NodeId, RegionId> into_;
  IdVector<NodeId, double> least_bytes_;
  bool any_ = false;
};

/// Operations that `placement` has on one side, together with their readers, and that by an estimate cost less inside the loop as part of
/// their readers' kernel. Only a plan of the program with them there says whether it is so.
std::vector<Sinking> worth_sinking(const Graph& graph, const Sinkable& sinkable, const CostModel& model, const CostedProblem& costed,
                                   const Placement& placement);

}  // namespace cleave::planner
