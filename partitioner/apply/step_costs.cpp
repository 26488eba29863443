#include "partitioner/apply/step_costs.h"

namespace cleave::planner {

StepCosts step_costs(const Program& program, const CostedProblem& costed, const Machine& machine) {
  StepCosts costs;
  const std::size_t nodes = program.graph->nodes.size();
  costs.host_seconds.reserve(nodes);
  costs.accelerator_seconds.reserve(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    costs.host_seconds.push_back(costed.problem.nodes[i].host_seconds);
    costs.accelerator_seconds.push_back(costed.problem.nodes[i].accelerator_seconds);
  }
  for (const Channel& channel : program.channels)
    costs.channel_seconds.push_back(costed.problem.values[channel.value.index].seconds(channel.from, channel.to));
  costs.memory_bytes.push_back(machine.host.memory_bytes);
  for (std::size_t d = 1; d < program.devices.size(); ++d)
    costs.memory_bytes.push_back(machine.accelerators.size() >= d ? machine.accelerators[d - 1].memory_bytes : 0);
  return costs;
}

}  // namespace cleave::planner
