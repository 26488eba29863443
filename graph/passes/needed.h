// NeededValues: the set of live values: those that outputs, effects and the control flow around them need. Does not change the graph.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace cleave {

/// If a loop has at least one iteration and none reads a carried value, the yielded value is needed, but not the initial one.
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
