#include "partitioner/apply/step_costs.h"

#include "partitioner/apply/coalesce.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {
namespace {

/// The nodes that a device computes. Carried and merge nodes only pass values on and take no time.
std::vector<std::uint8_t> computed(const Program& program, DeviceId device, std::size_t nodes) {
  std::vector<std::uint8_t> result(nodes);
  for (const Block& block : program.devices[device].blocks)
    for (const Step& step : block.steps)
      if (step.kind == StepKind::compute) result[step.node.index] = 1;
  return result;
}

}  // namespace

std::vector<std::vector<NodeId>> kernels_of_several(const Program& program, DeviceId device) {
  std::vector<std::vector<NodeId>> kernels;
  if (program.kernels.size() <= device.index) return kernels;
  const IdVector<NodeId, Node>& nodes = program.graph->nodes;
  for (const FusibleGroup& part : program.kernels[device]) {
    std::vector<NodeId> kernel;  // pulled operations may be in another region, where they run separately
    for (const NodeId node : part.nodes)
      if (nodes[node].region == nodes[part.nodes.back()].region) kernel.push_back(node);
    if (kernel.size() > 1) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

IdVector<NodeId, double> step_seconds(const Program& program, DeviceId device, const CostedProblem& costed) {
  const std::vector<std::uint8_t> host = computed(program, kHost, costed.problem.nodes.size());
  const std::vector<std::uint8_t> accelerator = computed(program, kAccelerator, costed.problem.nodes.size());
  const std::vector<double> single = execution_seconds(costed.problem, host, accelerator, device);
  IdVector<NodeId, double> seconds;
  seconds.reserve(program.graph->nodes.size());
  for (std::size_t i = 0; i < program.graph->nodes.size(); ++i) seconds.push_back(single[i]);
  for (const std::vector<NodeId>& kernel : kernels_of_several(program, device)) {
    for (const NodeId node : kernel) {
      if (node == kernel.back()) continue;
      seconds[kernel.back()] += seconds[node];
      seconds[node] = 0;
    }
  }
  return seconds;
}

StepCosts step_costs(const Program& program, const CostedProblem& costed, const Machine& machine) {
  StepCosts costs;
  costs.host_seconds = step_seconds(program, kHost, costed);
  for (std::size_t i = 0; i < program.graph->nodes.size(); ++i) costs.host_alone.push_back(costed.problem.nodes[i].host_seconds);
  costs.accelerator_seconds = step_seconds(program, kAccelerator, costed);
  costs.channel_seconds = channel_seconds(program, costed);
  costs.start_seconds = costed.start_seconds;
  costs.run_seconds = costed.problem.nodes.back().host_seconds;
  costs.memory_bytes.push_back(machine.host.memory_bytes);
  for (std::size_t d = 1; d < program.devices.size(); ++d)
    costs.memory_bytes.push_back(machine.accelerators.size() >= d ? machine.accelerators[d - 1].memory_bytes : 0);
  return costs;
}

}  // namespace cleave::planner
