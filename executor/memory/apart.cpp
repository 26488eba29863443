#include "executor/memory/apart.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

bool contains(const std::vector<StepPlace>& places, const StepPlace& place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

/// The step, and all loops around it.
std::vector<StepPlace> with_loops_around(StepPlace place, const std::vector<std::optional<StepPlace>>& around) {
  std::vector<StepPlace> all = {place};
  while (around[place.block]) all.push_back(place = *around[place.block]);
  return all;
}

std::int64_t bytes_moved(const MemoryPlan& plan, const StepPlan& step) {
  std::int64_t bytes = 0;
  for (const std::vector<Move>* moves : {&step.entry, &step.trip, &step.merge[0], &step.merge[1]})
    for (const Move& move : *moves) bytes += plan.storages[static_cast<std::size_t>(move.to)].range.bytes;
  return bytes;
}

}  // namespace

bool Apart::allows(const Sharing& sharing) const {
  using Why = Sharing::Why;
  if (crosses.empty() || sharing.why == Why::same || sharing.why == Why::leaves || sharing.why == Why::starts) return true;
  return carried[sharing.a] == 0 && (sharing.why != Why::in_place || (crosses[sharing.a] == 0 && crosses[sharing.b] == 0));
}

Apart keep_apart(const Program& program, DeviceId device, const std::vector<Crossing>& crossings, const std::vector<StepPlace>& loops) {
  const Graph& graph = *program.graph;
  Apart apart;
  apart.crosses.resize(graph.values.size(), 0);
  apart.carried.resize(graph.values.size(), 0);
  for (const Crossing& crossing : crossings) {
    if (!contains(loops, crossing.loop)) continue;
    for (const ValueId value : crossing.values) apart.crosses[value] = 1;
  }
  for (const StepPlace& loop : loops) {
    for (const NodeId carried : program.devices[device].blocks[loop.block].steps[loop.step].carried) {
      const Node& node = graph.nodes[carried];
      apart.carried[node.results[0]] = apart.crosses[node.results[0]] | apart.crosses[node.inputs[1]];
    }
  }
  return apart;
}

std::vector<StepPlace> waiting_loops(const std::vector<Crossing>& crossings, const MemoryPlan& plan) {
  std::vector<StepPlace> waiting;
  for (const Crossing& crossing : crossings) {
    if (contains(waiting, crossing.loop)) continue;
    const std::int32_t rotation = plan.blocks[crossing.loop.block][crossing.loop.step].rotation;
    const auto has_one_place = [&](ValueId value) {
      const StorageIndex s = plan.storage_of[value];
      return rotation < 0 || plan.rotations[static_cast<std::size_t>(rotation)].at(s, 1) == s;
    };
    if (std::any_of(crossing.values.begin(), crossing.values.end(), has_one_place)) waiting.push_back(crossing.loop);
  }
  return waiting;
}

std::vector<StepPlace> better_loops(const std::vector<StepPlace>& loops, const std::vector<Crossing>& crossings,
                                    const DeviceProgram& program, const MemoryPlan& plan, const MemoryPlan& apart) {
  const std::vector<std::optional<StepPlace>> around = loops_around(program);
  std::vector<StepPlace> worse = waiting_loops(crossings, apart);
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t s = 0; s < plan.blocks[b].size(); ++s) {
      if (bytes_moved(apart, apart.blocks[b][s]) <= bytes_moved(plan, plan.blocks[b][s])) continue;
      for (const StepPlace& each : with_loops_around({b, s}, around)) worse.push_back(each);
    }
  }
  // A loop that improves by itself may prevent the rotation of a loop around it, so both are checked.
  std::vector<StepPlace> better;
  for (const StepPlace& loop : loops) {
    const std::vector<StepPlace> concerned = with_loops_around(loop, around);
    if (std::none_of(concerned.begin(), concerned.end(), [&](const StepPlace& each) { return contains(worse, each); }))
      better.push_back(loop);
  }
  return better;
}

}  // namespace cleave::runtime
