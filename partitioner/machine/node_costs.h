// What a node's one execution costs on a side, in seconds: what a profile or the user says of it, else what the machine file's tables and
// rates give. Knows no placement.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "partitioner/machine/costs.h"

namespace cleave::planner {

class NodeCosts {
 public:
  /// Both are kept. The accelerator is asked about only where the machine has one.
  NodeCosts(const Graph& graph, const CostModel& model) : graph_(graph), model_(model) {}

  [[nodiscard]] double host_seconds(NodeId id) const;
  [[nodiscard]] double accelerator_seconds(NodeId id) const;
  /// What of a node's `seconds` there is no computing: starting the kernel and waiting for memory. Nothing where they were observed, as
  /// part of whatever it ran in.
  [[nodiscard]] double spare_seconds(NodeId id, DeviceId side, double seconds) const;

 private:
  [[nodiscard]] std::optional<double> observed_seconds(const Node& node) const;

  const Graph& graph_;
  const CostModel& model_;
};

}  // namespace cleave::planner
