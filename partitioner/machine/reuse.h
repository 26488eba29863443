// Reuse: the reuse distance of values: how many bytes a run touches between two uses of a value if everything runs on the host. A cache
// smaller than that no longer holds the value. Programs and loops repeat, so that the first use of a value follows its last use in the
// previous run or iteration. Knows no costs and no machine.
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
  /// The operands and results of an operation, each value once.
  [[nodiscard]] std::vector<Operand> of(NodeId node) const;

 private:
  /// An operation's values are contiguous in `operands_`, from `start_[node]`.
  std::vector<std::uint32_t> start_;
  std::vector<Operand> operands_;
};

}  // namespace cleave::planner
