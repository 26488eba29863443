#include "partitioner/apply/several_devices.h"

#include <utility>

#include "graph/base/check.h"

namespace cleave::planner {
namespace {

/// Per value, the seconds of one transfer over a link.
std::vector<double> seconds_over(const Graph& graph, const PlacementProblem& problem, const LinkDirection& link) {
  std::vector<double> seconds(problem.values.size(), 0);  // values behind those of the graph stand for decisions
  for (std::size_t v = 0; v < graph.values.size(); ++v)
    seconds[v] = link.seconds(static_cast<double>(graph.values[ValueId(v)].type.bytes()));
  return seconds;
}

}  // namespace

DeviceProblem device_problem(const Graph& graph, const CostedProblem& costed) {
  CLEAVE_CHECK(costed.several, "the costs are those of one accelerator");
  const Machine& machine = costed.several->machine;
  DeviceProblem problem;
  problem.base = costed.problem;
  for (std::size_t a = 0; a < machine.accelerators.size(); ++a) {
    const DeviceId device(a + 1);
    DeviceProblem::Accelerator accelerator;
    accelerator.seconds = costed.several->seconds[a];
    std::vector<double> from_host = seconds_over(graph, costed.problem, machine.link(kHost, device));
    std::vector<double> to_host = seconds_over(graph, costed.problem, machine.link(device, kHost));
    bool same = true;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const PlacementProblem::Value& first = costed.problem.values[v];
      same = same && from_host[v] == first.host_to_accelerator_seconds && to_host[v] == first.accelerator_to_host_seconds;
    }
    if (!same) {
      accelerator.from_host_seconds = std::move(from_host);
      accelerator.to_host_seconds = std::move(to_host);
    }
    accelerator.memory_bytes = machine.accelerators[a].memory_bytes;
    problem.accelerators.push_back(std::move(accelerator));
  }
  for (const Machine::Peer& peer : machine.peers)
    problem.peers.push_back({peer.first, peer.second, seconds_over(graph, costed.problem, peer.link)});
  return problem;
}

Placement placement_on_devices(const DeviceProblem& problem, const PlacedDevices& placed) {
  Placement placement;
  placement.devices = problem.devices();
  placement.on = placed.on;
  for (const DeviceSet on : placed.on) {
    placement.on_host.push_back(on.has(kHost) ? 1 : 0);
    placement.on_accelerator.push_back(on.without(DeviceSet::only(kHost.index)).empty() ? 0 : 1);
  }
  placement.transfers = placed.transfers;
  placement.objective_seconds = placed.objective_seconds;
  placement.bound_seconds = placed.bound_seconds;
  placement.gap = placed.gap;
  placement.solve_seconds = placed.solve_seconds;
  return placement;
}

}  // namespace cleave::planner
