// Sinkable: operations before a loop whose results only that loop reads. The pass hoist-invariant moves operations to where they run least
// often; yet an operation may cost less in the loop if it is fused with its readers. Knows into which region each operation could sink and
// what it would read there; worth_sinking() estimates which of them pay under a placement. graph/passes/sink.h moves them.
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
  /// No operation of `graph` can sink.
  explicit Sinkable(const Graph& graph) : into_(graph.nodes.size()) {}
  /// `frequency`: by region, executions per run.
  Sinkable(const Graph& graph, const ValueUses& uses, const IdVector<RegionId, double>& frequency);

  [[nodiscard]] bool any() const { return any_; }
  /// The region that holds all readers, if it runs more often than the node's own and no region on the path to it runs less often;
  /// otherwise none, and the node cannot sink. Readers that could sink themselves count as sunk.
  [[nodiscard]] RegionId into(NodeId node) const { return into_[node]; }
  /// The least that a kernel in that region has to read, for each execution, in order to compute the node instead of reading its result:
  /// values that other operations in the region read or produce anyway are not counted.
  [[nodiscard]] double least_bytes(NodeId node) const { return least_bytes_[node]; }

 private:
  class SinkableFinder;

  IdVector<NodeId, RegionId> into_;
  IdVector<NodeId, double> least_bytes_;
  bool any_ = false;
};

/// Operations that `placement` puts on the same side as their readers and that are estimated to cost less inside the loop, fused with their
/// readers. Only a plan of the changed program tells whether they do. None if all together are estimated to save less than
/// `least_seconds` of a run.
std::vector<Sinking> worth_sinking(const Graph& graph, const Sinkable& sinkable, const CostModel& model, const CostedProblem& costed,
                                   const Placement& placement, double least_seconds);

}  // namespace cleave::planner
