// Reuse: how many bytes a run touches between two uses of a value, if all of it runs on the host: what of it a cache still holds then.
// Programs and loops repeat, so what is used first was used by the trip or run before. Knows no costs and no machine.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace cleave::planner {

class Reuse {
 public:
  explicit Reuse(const Graph& graph);

  struct Operand {
    double bytes = 0;
    double distance = 0;  ///< bytes touched since its last use, this operation's included
  };
  /// What an operation reads and writes, each value once.
  [[nodiscard]] std::vector<Operand> of(NodeId node) const;

 private:
  /// An operation's values stand one behind the other, from `start_[node]`.
  std::vector<std::uint32_t> start_;
  std::vector<Operand> operands_;
};

}  // namespace cleave::planner
