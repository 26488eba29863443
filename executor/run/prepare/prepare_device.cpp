#include "executor/run/prepare/prepare_device.h"

#include <algorithm>

#include "executor/run/prepare/device_controls.h"
#include "executor/run/prepare/device_kernels.h"
#include "executor/run/prepare/device_rows.h"
#include "executor/run/prepare/device_segments.h"
#include "graph/states.h"

namespace cleave::runtime {
namespace {

DeviceCommands without_commands(const Prepared& prepared, DeviceId id) {
  const std::size_t nodes = prepared.graph().nodes.size();
  DeviceCommands commands;
  std::int32_t turns = 1;
  for (const DoubleBuffers& double_buffers : prepared.plans[id].double_buffered_loops) turns = std::max(turns, double_buffers.turns);
  commands.turns.resize(static_cast<std::size_t>(turns));
  for (DeviceCommands::Turn& turn : commands.turns) {
    turn.kernels.resize(nodes);
    turn.work.resize(nodes);
    turn.members.resize(nodes);
  }
  commands.orders.resize(nodes);
  return commands;
}

/// Notes everything about the steps that needs no preparation on the device.
void note_steps(const Prepared& prepared, DeviceId id, DeviceCommands& commands) {
  const Graph& graph = prepared.graph();
  for (const Block& block : prepared.program->devices[id].blocks) {
    for (const Step& step : block.steps) {
      if (step.by_itself) commands.alone.insert(step.node);
      if (step.kind != StepKind::compute) continue;
      commands.orders[step.node] = step.order;
      const NodeKind kind = graph.nodes[step.node].kind;
      if (kind == NodeKind::input || kind == NodeKind::parameter) commands.leaves.push_back(step.node);
    }
  }
  const IdVector<ValueId, StorageIndex>& storage_of = prepared.plans[id].storage_of;
  for (const GraphState& state : states_of(graph))
    if (std::find(commands.leaves.begin(), commands.leaves.end(), state.leaf) != commands.leaves.end())
      commands.states.push_back({storage_of[state.value], storage_of[state.next]});
}

/// The ranges of constants, and of inputs and parameters that no run changes.
std::vector<Range> kept_ranges(const Prepared& prepared, DeviceId id) {
  const Graph& graph = prepared.graph();
  std::set<NodeId> changing;
  for (const GraphState& state : states_of(graph))
    if (!state.fixed()) changing.insert(state.leaf);
  std::vector<Range> kept;
  for (const Block& block : prepared.program->devices[id].blocks) {
    for (const Step& step : block.steps) {
      const Node& node = graph.nodes[step.node];
      const bool leaf = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
      if (step.kind != StepKind::compute) continue;
      if (node.kind == NodeKind::constant || (leaf && !changing.contains(step.node)))
        kept.push_back(prepared.plans[id].range(node.results[0]));
    }
  }
  return kept;
}

/// The values of a transport in one turn.
Result<Transport::Load> load(const Prepared& prepared, DeviceId id, ChannelId first, const DoubleBuffers* double_buffers, std::int32_t turn,
                             const std::vector<Transport::Load>& earlier) {
  const Program& program = *prepared.program;
  const MemoryPlan& plan = prepared.plans[id];
  Transport::Load load;
  for (const ChannelId each : travelling_with(program, first)) {
    const Channel& channel = program.channels[each];
    const StorageIndex there = storage_in_turn(double_buffers, plan.storage_of[channel.value], turn);
    load.storages.push_back(there);
    load.ranges.push_back({plan.range(there), channel.offset});
  }
  const Channel& channel = program.channels[first];
  CoalescedCopies* const copies = prepared.devices[id]->coalesced_copies();
  if (!channel.coalesced || !copies || between_accelerators(channel)) return load;
  if (!earlier.empty() && load.storages == earlier.front().storages) {
    load.pieces = earlier.front().pieces;
    return load;
  }
  Result<PiecesId> pieces = copies->prepare(load.ranges, channel.to == id ? Stream::to_device : Stream::to_host);
  if (!pieces) return at_node(prepared.graph(), prepared.graph().values[channel.value].producer, pieces.error());
  load.pieces = *pieces;
  return load;
}

/// Prepares the device's end of the transports.
Status place_loads(const Prepared& prepared, DeviceId id, Transports& transports) {
  const std::vector<Block>& blocks = prepared.program->devices[id].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const DoubleBuffers* const double_buffers = prepared.plans[id].double_buffers(b);
    for (const Step& step : blocks[b].steps) {
      if ((step.kind != StepKind::send && step.kind != StepKind::receive) || follows(*prepared.program, step.channel)) continue;
      std::vector<Transport::Load> loads;
      for (std::int32_t turn = 0; turn < turns_of(double_buffers); ++turn) {
        Result<Transport::Load> next = load(prepared, id, step.channel, double_buffers, turn, loads);
        if (!next) return next.error();
        loads.push_back(*std::move(next));
      }
      transports.of[step.channel]->place(id, std::move(loads));
    }
  }
  return {};
}

}  // namespace

Result<DeviceCommands> prepare_device(const Prepared& prepared, DeviceId id, Transports& transports) {
  DeviceCommands commands = without_commands(prepared, id);
  note_steps(prepared, id, commands);
  if (Status status = prepared.devices[id]->allocate(prepared.plans[id].arena_bytes, kept_ranges(prepared, id)); !status)
    return status.error();
  if (Status status = prepare_kernels(prepared, id, commands); !status) return status.error();
  if (Status status = place_loads(prepared, id, transports); !status) return status.error();
  if (Status status = prepare_rows(prepared, id, transports, commands); !status) return status.error();
  prepare_controls(prepared, id, commands);
  find_awaited(prepared, id, commands);
  prepare_segments(prepared, id, commands);
  return commands;
}

}  // namespace cleave::runtime
