// NeededValues: the values that outputs, effects and the control flow around them need. Changes nothing.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// A loop that surely has a trip, and reads a carried value in none, needs its final value and not the value from before the loop.
class NeededValues {
 public:
  /// `also_read`: values that count as outputs.
  explicit NeededValues(const Graph& graph, std::span<const ValueId> also_read = {});

  [[nodiscard]] bool node(NodeId id) const { return nodes_[id]; }
  [[nodiscard]] bool value(ValueId id) const { return values_[id]; }

 private:
  void need(ValueId value);
  void need_node(NodeId id);
  void read(ValueId value);

  const Graph& graph_;
  IdVector<NodeId, bool> nodes_;
  IdVector<ValueId, bool> values_;
  std::vector<ValueId> work_;
};

}  // namespace cleave
