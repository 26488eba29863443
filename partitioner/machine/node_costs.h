// What a node's one execution costs on a side, in seconds: what a profile or the user says of it, else what the machine file's tables and
// rates give (op_costs.h). Knows no placement.
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
  /// Both are kept. The accelerator is asked about only where the machine has one.
  NodeCosts(const Graph& graph, const CostModel& model);

  [[nodiscard]] OpCost host_cost(NodeId id) const;
  [[nodiscard]] OpCost accelerator_cost(NodeId id) const;
  /// What of a node's `seconds` there it does not take as one of several operations that run as one kernel: starting, and waiting for
  /// memory. Nothing where they were observed, as part of whatever it ran in.
  [[nodiscard]] double spare_seconds(NodeId id, DeviceId side, double seconds) const;
  /// Whether a profile says what it takes.
  [[nodiscard]] bool observed(NodeId id, DeviceId side) const { return side == kHost && observed_seconds(graph_.nodes[id]).has_value(); }

 private:
  [[nodiscard]] std::optional<double> observed_seconds(const Node& node) const;
  [[nodiscard]] double rounding_seconds(const Node& node) const;
  /// What is already known of the node that was asked about last.
  [[nodiscard]] const OpWork& work(NodeId id) const;

  const Graph& graph_;
  const CostModel& model_;
  std::optional<ProfileKeys> keys_;  ///< where times were observed
  OpCosts host_;
  std::optional<OpCosts> accelerator_;
  std::optional<Reuse> reuse_;  ///< where the host was measured
  mutable NodeId last_;
  mutable OpWork last_work_;
};

}  // namespace cleave::planner
