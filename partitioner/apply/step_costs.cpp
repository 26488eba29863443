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

/// The problem of the host and an accelerator other than the first one.
PlacementProblem problem_of(const CostedProblem& costed, DeviceId device) {
  PlacementProblem problem = costed.problem;
  const std::vector<double>& seconds = costed.several->seconds[device.index - 1];
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) problem.nodes[i].accelerator_seconds = seconds[i];
  return problem;
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
  const DeviceId other = device == kHost ? kAccelerator : device;  // savings concern the host and one accelerator
  const std::vector<std::uint8_t> host = computed(program, kHost, costed.problem.nodes.size());
  const std::vector<std::uint8_t> accelerator = computed(program, other, costed.problem.nodes.size());
  const bool differs = costed.several && device != kHost && !costed.several->seconds[device.index - 1].empty();
  const std::vector<double> single =
      execution_seconds(differs ? problem_of(costed, device) : costed.problem, host, accelerator, device == kHost ? kHost : kAccelerator);
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
  for (std::size_t d = 0; d < program.devices.size(); ++d) costs.seconds.push_back(step_seconds(program, DeviceId(d), costed));
  for (std::size_t i = 0; i < program.graph->nodes.size(); ++i) costs.host_alone.push_back(costed.problem.nodes[i].host_seconds);
  costs.channel_seconds = channel_seconds(program, costed);
  costs.start_seconds = costed.start_seconds;
  costs.run_seconds = costed.problem.nodes.back().host_seconds;
  costs.memory_bytes.push_back(machine.host.memory_bytes);
  for (std::size_t d = 1; d < program.devices.size(); ++d)
    costs.memory_bytes.push_back(machine.accelerators.size() >= d ? machine.accelerators[d - 1].memory_bytes : 0);
  return costs;
}

}  // namespace cleave::planner
