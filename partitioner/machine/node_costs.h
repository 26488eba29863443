// NodeCosts: the cost of one execution of a node on a side, in seconds: as given by a profile or the user, else by the machine file's
// tables and rates (op_costs.h). Knows no placement.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/op_costs.h"
#include "partitioner/machine/profile_keys.h"
#include "partitioner/machine/reuse.h"

namespace cleave::planner {

class NodeCosts {
 public:
  /// Keeps references to both. accelerator_cost() may be called only if the machine has an accelerator.
  NodeCosts(const Graph& graph, const CostModel& model);

  [[nodiscard]] OpCost host_cost(NodeId id) const;
  [[nodiscard]] OpCost accelerator_cost(NodeId id) const;
  /// The part of a node's `seconds` on a side that fusion may save: launch and waiting for memory. 0 for observed times, which were
  /// measured within the kernel in which the node ran.
  [[nodiscard]] double spare_seconds(NodeId id, DeviceId side, double seconds) const;
  /// Whether a profile has the node's time.
  [[nodiscard]] bool observed(NodeId id, DeviceId side) const { return side == kHost && observed_seconds(graph_.nodes[id]).has_value(); }

 private:
  [[nodiscard]] std::optional<double> observed_seconds(const Node& node) const;
  [[nodiscard]] double rounding_seconds(const Node& node) const;
  /// The node's work; cached for the last node asked about.
  [[nodiscard]] const OpWork& work(NodeId id) const;

  const Graph& graph_;
  const CostModel& model_;
  std::optional<ProfileKeys> keys_;  ///< only if the profile has observed times
  OpCosts host_;
  std::optional<OpCosts> accelerator_;
  std::optional<Reuse> reuse_;  ///< only if the host was measured
  mutable NodeId last_;
  mutable OpWork last_work_;
};

}  // namespace cleave::planner
