#include "partitioner/apply/step_costs.h"

#include "partitioner/solver/placement.h"

namespace cleave::planner {
namespace {

/// Which nodes a device computes. What only passes values on (carried, merged) takes no time anywhere.
std::vector<std::uint8_t> computed(const Program& program, DeviceId device, std::size_t nodes) {
  std::vector<std::uint8_t> result(nodes);
  for (const Block& block : program.devices[device].blocks)
    for (const Step& step : block.steps)
      if (step.kind == StepKind::compute) result[step.node.index] = 1;
  return result;
}

}  // namespace

IdVector<NodeId, double> step_seconds(const Program& program, DeviceId device, const CostedProblem& costed) {
  const Graph& graph = *program.graph;
  const std::vector<std::uint8_t> host = computed(program, kHost, costed.problem.nodes.size());
  const std::vector<std::uint8_t> accelerator = computed(program, kAccelerator, costed.problem.nodes.size());
  const std::vector<double> single = execution_seconds(costed.problem, host, accelerator, device);
  IdVector<NodeId, double> seconds;
  seconds.reserve(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) seconds.push_back(single[i]);
  if (costed.fusible.size() <= device.index) return seconds;
  const std::vector<std::uint8_t>& here = device == kHost ? host : accelerator;
  for (const FusibleGroup& group : costed.fusible[device]) {
    for (const FusibleGroup& part : parts_of(group, [&](NodeId node) { return here[node.index] != 0; })) {
      const NodeId last = part.nodes.back();
      for (const NodeId node : part.nodes) {
        if (node == last || graph.nodes[node].region != graph.nodes[last].region) continue;
        seconds[last] += seconds[node];
        seconds[node] = 0;
      }
    }
  }
  return seconds;
}

StepCosts step_costs(const Program& program, const CostedProblem& costed, const Machine& machine) {
  StepCosts costs;
  costs.host_seconds = step_seconds(program, kHost, costed);
  costs.accelerator_seconds = step_seconds(program, kAccelerator, costed);
  for (const Channel& channel : program.channels)
    costs.channel_seconds.push_back(costed.problem.values[channel.value.index].seconds(channel.from, channel.to));
  costs.memory_bytes.push_back(machine.host.memory_bytes);
  for (std::size_t d = 1; d < program.devices.size(); ++d)
    costs.memory_bytes.push_back(machine.accelerators.size() >= d ? machine.accelerators[d - 1].memory_bytes : 0);
  return costs;
}

}  // namespace cleave::planner
