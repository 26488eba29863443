#include "executor/run/prepare/device_controls.h"

#include <memory>
#include <optional>
#include <utility>

#include "executor/memory/control.h"

namespace cleave::runtime {
namespace {

/// Adds to `work` the values that the control step and the steps inside it read and write: predicates, and moved values.
void note_values(const Prepared& prepared, DeviceId id, const Step& step, Work& work) {
  const Graph& graph = prepared.graph();
  const IdVector<ValueId, StorageIndex>& storage_of = prepared.plans[id].storage_of;
  const auto note = [&](ValueId value, std::vector<StorageIndex>& to) {
    if (value.valid() && storage_of[value] != kNoStorage) to.push_back(storage_of[value]);
  };
  const Node& node = graph.nodes[step.node];
  for (const ValueId input : node.inputs) note(input, work.reads);
  for (const RegionId region : node.regions) note(graph.regions[region].predicate, work.reads);
  for (const std::vector<NodeId>* owned : {&step.carried, &step.merges}) {
    for (const NodeId each : *owned) {
      for (const ValueId value : graph.nodes[each].inputs) note(value, work.reads);
      for (const ValueId value : graph.nodes[each].results) note(value, work.writes);
    }
  }
  for (const BlockIndex inner : step.blocks) {
    if (inner == kNoBlock) continue;
    for (const Step& each : prepared.program->devices[id].blocks[static_cast<std::size_t>(inner)].steps)
      if (is_control(graph.nodes[each.node].kind)) note_values(prepared, id, each, work);
  }
}

/// The command waits for everything that any of its steps must wait for: since nothing is sent or received inside, its first steps would
/// wait for that anyway.
void prepare_control(const Prepared& prepared, DeviceId id, std::size_t block, std::size_t index, DeviceCommands& commands) {
  if (prepared.plans[id].double_buffers(block)) return;  // the storages of its values change during the loop
  const Step& step = prepared.program->devices[id].blocks[block].steps[index];
  Device& device = *prepared.devices[id];
  const auto kernel_of = [&](NodeId node) -> std::optional<DeviceStep> {
    const KernelId kernel = commands.turn(0).kernels[node];
    if (kernel.valid() && !device.segments()->joins(kernel)) return std::nullopt;
    return DeviceStep{kernel, {}, {}, node, commands.orders[node]};
  };
  std::optional<FoundControl> found = find_control(*prepared.program, id, prepared.plans[id], block, index, kernel_of);
  if (!found) return;
  LaunchedControl control;
  for (const NodeId node : found->nodes) control.work.access(commands.turn(0).work[node]);
  note_values(prepared, id, step, control.work);
  if (!found->nodes.empty()) control.nodes = std::make_shared<const std::vector<NodeId>>(std::move(found->nodes));
  control.id = device.controls()->prepare(std::move(found->control));
  commands.controlled_blocks.merge(found->blocks);
  commands.controls.emplace(step.node, std::move(control));
}

}  // namespace

void prepare_controls(const Prepared& prepared, DeviceId id, DeviceCommands& commands) {
  if (!prepared.devices[id]->controls()) return;
  const std::vector<Block>& blocks = prepared.program->devices[id].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s)
      if (blocks[b].steps[s].by_itself && !commands.controlled_blocks.contains(b)) prepare_control(prepared, id, b, s, commands);
  }
}

}  // namespace cleave::runtime
