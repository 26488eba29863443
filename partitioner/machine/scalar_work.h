// ScalarWork: which operations are scalar work: counters, predicates, literals and everything computed from scalars alone. It is cheap
// enough to be replicated on both sides under every policy. Knows no costs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "partitioner/machine/value_uses.h"

namespace cleave::planner {

/// For each node: whether its operands and results are scalars and it depends on scalars alone (or it decides control flow, for which the
/// host needs it anyway).
class ScalarWork {
 public:
  /// `uses` must be those of `graph`; both are read by the constructor only.
  ScalarWork(const Graph& graph, const ValueUses& uses);
  [[nodiscard]] bool operator[](std::size_t node) const { return scalar_[node] != 0; }

 private:
  std::vector<std::uint8_t> scalar_;
};

}  // namespace cleave::planner
