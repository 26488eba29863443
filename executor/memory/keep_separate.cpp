#include "executor/memory/keep_separate.h"

#include <algorithm>

namespace cleave::runtime {
namespace {

bool contains(const std::vector<StepPosition>& places, const StepPosition& place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

/// The step, and all loops around it.
std::vector<StepPosition> with_loops_around(StepPosition place, const std::vector<std::optional<StepPosition>>& around) {
  std::vector<StepPosition> all = {place};
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

bool SeparateValues::allows(const Sharing& sharing) const {
  using Why = Sharing::Why;
  if (transferred.empty() || sharing.why == Why::same || sharing.why == Why::leaves || sharing.why == Why::starts) return true;
  return carried[sharing.a] == 0 && (sharing.why != Why::in_place || (transferred[sharing.a] == 0 && transferred[sharing.b] == 0));
}

SeparateValues keep_separate(const Program& program, DeviceId device, const std::vector<LoopTransfer>& transfers,
                             const std::vector<StepPosition>& loops) {
  const Graph& graph = *program.graph;
  SeparateValues separate;
  separate.transferred.resize(graph.values.size(), 0);
  separate.carried.resize(graph.values.size(), 0);
  for (const LoopTransfer& transfer : transfers) {
    if (!contains(loops, transfer.loop)) continue;
    for (const ValueId value : transfer.values) separate.transferred[value] = 1;
  }
  for (const StepPosition& loop : loops) {
    for (const NodeId carried : program.devices[device].blocks[loop.block].steps[loop.step].carried) {
      const Node& node = graph.nodes[carried];
      separate.carried[node.results[0]] = separate.transferred[node.results[0]] | separate.transferred[node.inputs[1]];
    }
  }
  return separate;
}

std::vector<StepPosition> waiting_loops(const std::vector<LoopTransfer>& transfers, const MemoryPlan& plan) {
  std::vector<StepPosition> waiting;
  for (const LoopTransfer& transfer : transfers) {
    if (contains(waiting, transfer.loop)) continue;
    const std::int32_t double_buffers = plan.blocks[transfer.loop.block][transfer.loop.step].double_buffers;
    const auto has_one_place = [&](ValueId value) {
      const StorageIndex s = plan.storage_of[value];
      return double_buffers < 0 || plan.double_buffered_loops[static_cast<std::size_t>(double_buffers)].at(s, 1) == s;
    };
    if (std::any_of(transfer.values.begin(), transfer.values.end(), has_one_place)) waiting.push_back(transfer.loop);
  }
  return waiting;
}

std::vector<StepPosition> better_loops(const std::vector<StepPosition>& loops, const std::vector<LoopTransfer>& transfers,
                                       const DeviceProgram& program, const MemoryPlan& plan, const MemoryPlan& separate) {
  const std::vector<std::optional<StepPosition>> around = loops_around(program);
  std::vector<StepPosition> worse = waiting_loops(transfers, separate);
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t s = 0; s < plan.blocks[b].size(); ++s) {
      if (bytes_moved(separate, separate.blocks[b][s]) <= bytes_moved(plan, plan.blocks[b][s])) continue;
      for (const StepPosition& each : with_loops_around({b, s}, around)) worse.push_back(each);
    }
  }
  // A loop that improves by itself may prevent the double buffering of a loop around it, so both are checked.
  std::vector<StepPosition> better;
  for (const StepPosition& loop : loops) {
    const std::vector<StepPosition> concerned = with_loops_around(loop, around);
    if (std::none_of(concerned.begin(), concerned.end(), [&](const StepPosition& each) { return contains(worse, each); }))
      better.push_back(loop);
  }
  return better;
}

}  // namespace cleave::runtime
