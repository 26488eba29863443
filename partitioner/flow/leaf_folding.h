// LeafFolding: removes leaves from a flow network, repeatedly, until none is left. Paths and trees vanish, on which search trees need
// quadratic work. A leaf's excess is lent to its neighbor until the flow of the remaining network is known.
#pragma once

#include <vector>

#include "partitioner/flow/flow_network.h"

namespace cleave::planner {

class LeafFolding {
 public:
  /// Folds all leaves. Vertices keep their numbers; a folded vertex has no excess and is a dead end.
  explicit LeafFolding(FlowNetwork& network);
  /// Returns lent excess that was not used and pushes the used part over the leaves' arcs. A maximum flow of the folded network becomes one
  /// of the whole.
  void unfold();

 private:
  struct Folded {
    std::int32_t vertex = 0, arc = 0;  ///< the arc to its neighbor
    std::int64_t lent = 0;             ///< added to the neighbor's excess; negative: subtracted from it
    std::int64_t excess = 0;           ///< the leaf's own excess, the lent part included
  };

  void fold(std::int32_t vertex, std::int32_t arc);

  FlowNetwork& network_;
  std::vector<Folded> folded_;
};

}  // namespace cleave::planner
