// `cleave print --stage placed`: the graph's text form with where each node runs.
#include "graph/text/text.h"
#include "partitioner/report/explain.h"

namespace cleave::planner {

std::string placed_text(const Plan& plan) {
  const auto sides = [&plan](NodeId node) -> std::string {
    if (is_control(plan.graph->nodes[node].kind)) return "driven by the host";
    const bool host = plan.placement.has_copy(node.index, kHost), accelerator = plan.placement.has_copy(node.index, kAccelerator);
    return host && accelerator ? "host and accelerator:0" : host ? "host" : "accelerator:0";
  };
  return print(*plan.graph, {.locations = false, .comment = sides});
}

}  // namespace cleave::planner
