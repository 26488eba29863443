// `cleave print --stage placed`: the graph's text form, with the devices of each node.
#include "graph/text/text.h"
#include "partitioner/report/explain.h"

namespace cleave::planner {

std::string placed_text(const Graph& graph, const Placement& placement) {
  const auto sides = [&](NodeId node) -> std::string {
    if (is_control(graph.nodes[node].kind)) return "driven by the host";
    const bool host = placement.has_copy(node.index, kHost), accelerator = placement.has_copy(node.index, kAccelerator);
    return host && accelerator ? to_string(kHost) + " and " + to_string(kAccelerator) : to_string(host ? kHost : kAccelerator);
  };
  return print(graph, {.locations = false, .comment = sides});
}

}  // namespace cleave::planner
