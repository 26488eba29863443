// Takes leaves off a flow network, and the leaves that this makes, until none is left: paths and trees vanish, on which search trees need
// quadratic work. What a leaf can supply or take becomes its neighbour's, until the flow of the rest is known.
#pragma once

#include <vector>

#include "partitioner/flow/flow_network.h"

namespace cleave::planner {

class LeafFolding {
 public:
  /// Folds them. The network keeps its numbering; a folded vertex has no excess and leads nowhere.
  explicit LeafFolding(FlowNetwork& network);
  /// Gives back what was not used and pushes the rest over the leaves' arcs: a maximum flow of the rest becomes one of the whole.
  void unfold();

 private:
  struct Folded {
    std::int32_t vertex = 0, arc = 0;  ///< the arc to its neighbour
    std::int64_t lent = 0;             ///< to the neighbour's excess, negative: taken from it
    std::int64_t excess = 0;           ///< its own, with what is lent
  };

  void fold(std::int32_t vertex, std::int32_t arc);

  FlowNetwork& network_;
  std::vector<Folded> folded_;
};

}  // namespace cleave::planner
