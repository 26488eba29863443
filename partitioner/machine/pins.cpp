#include "partitioner/machine/pins.h"

#include <algorithm>

namespace cleave::planner {

Side wanted_side(const Node& node) {
  return node.op && node.op->moves_to != Side::none ? node.op->moves_to : node.pin.side;
}

bool wants_accelerator(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return wanted_side(node) == Side::accelerator; });
}

}  // namespace cleave::planner
