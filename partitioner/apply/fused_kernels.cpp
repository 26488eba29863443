#include "partitioner/apply/fused_kernels.h"

#include <algorithm>

namespace cleave::planner {

std::vector<FusedKernel> fused_kernels(const Program& program, const CostedProblem& costed, const Placement& placement) {
  std::vector<FusedKernel> kernels;
  for (std::size_t d = 0; d < program.kernels.size(); ++d) {
    const DeviceId device{d};
    if (program.kernels[device].empty()) continue;
    const std::vector<double> seconds = execution_seconds(costed.problem, placement.on_host, placement.on_accelerator, device);
    const std::size_t first = kernels.size();
    for (const FusibleGroup& group : program.kernels[device]) {
      FusedKernel kernel{device, group.nodes, 0};
      for (const NodeId id : group.nodes) {
        const PlacementProblem::Node& node = costed.problem.nodes[id.index];
        const double alone = device == kHost ? node.host_seconds : node.accelerator_seconds;
        kernel.saved_seconds += costed.problem.regions[node.region].frequency * (alone - seconds[id.index]);
      }
      kernels.push_back(std::move(kernel));
    }
    // Parts of split kernels were appended at the end.
    std::stable_sort(kernels.begin() + static_cast<std::ptrdiff_t>(first), kernels.end(), [&](const FusedKernel& a, const FusedKernel& b) {
      return costed.uses->begin(a.nodes.back()) < costed.uses->begin(b.nodes.back());
    });
  }
  return kernels;
}

}  // namespace cleave::planner
