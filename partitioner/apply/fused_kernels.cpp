#include "partitioner/apply/fused_kernels.h"

namespace cleave::planner {

std::vector<FusedKernel> fused_kernels(const CostedProblem& costed, const Placement& placement) {
  std::vector<FusedKernel> kernels;
  for (std::size_t d = 0; d < costed.fusible.size(); ++d) {
    const DeviceId device{d};
    if (costed.fusible[device].empty()) continue;
    const std::vector<double> seconds = execution_seconds(costed.problem, placement.on_host, placement.on_accelerator, device);
    for (const FusibleGroup& group : costed.fusible[device]) {
      for (const FusibleGroup& part : parts_of(group, [&](NodeId node) { return placement.has_copy(node.index, device); })) {
        FusedKernel kernel{device, part.nodes, 0};
        for (const NodeId id : part.nodes) {
          const PlacementProblem::Node& node = costed.problem.nodes[id.index];
          const double alone = device == kHost ? node.host_seconds : node.accelerator_seconds;
          kernel.saved_seconds += costed.problem.regions[node.region].frequency * (alone - seconds[id.index]);
        }
        kernels.push_back(std::move(kernel));
      }
    }
  }
  return kernels;
}

}  // namespace cleave::planner
