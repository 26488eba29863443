// Which operations are scalar work: counters, predicates, literals and what follows from scalars alone, cheap enough to be done on both
// sides whatever the policy. Knows no costs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/value_uses.h"

namespace cleave::planner {

/// For each node: scalars in, scalars out, and it follows from scalars alone (or decides control, for which the host needs it anyway).
class ScalarWork {
 public:
  /// `uses` of the graph; both are read here only.
  ScalarWork(const Graph& graph, const ValueUses& uses);
  [[nodiscard]] bool operator[](std::size_t node) const { return scalar_[node] != 0; }

 private:
  std::vector<std::uint8_t> scalar_;
};

}  // namespace cleave::planner
