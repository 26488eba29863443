#include "executor/memory/loop_transfers.h"

namespace cleave::runtime {
namespace {

bool may_repeat(const Node& loop) {
  return loop.kind == NodeKind::while_loop || !loop.inputs.empty() || loop.attributes.get<std::int64_t>("count") > 1;
}

/// The non-empty values of a channel's transfer; none if the transfer is smaller than `bytes`.
std::vector<ValueId> travelling(const Program& program, ChannelId channel, std::int64_t bytes) {
  std::vector<ValueId> values;
  std::int64_t at_once = 0;
  for (const ChannelId each : travelling_with(program, channel)) {
    const ValueId value = program.channels[each].value;
    const std::int64_t size = program.graph->values[value].type.bytes();
    at_once += size;
    if (size > 0) values.push_back(value);
  }
  return at_once >= bytes ? values : std::vector<ValueId>();
}

}  // namespace

std::vector<std::optional<StepPosition>> loops_around(const DeviceProgram& program) {
  std::vector<std::optional<StepPosition>> around(program.blocks.size());
  std::vector<std::size_t> open;
  if (!around.empty()) open.push_back(0);
  while (!open.empty()) {
    const std::size_t b = open.back();
    open.pop_back();
    for (std::size_t s = 0; s < program.blocks[b].steps.size(); ++s) {
      const Step& step = program.blocks[b].steps[s];
      for (const BlockIndex inner : step.blocks) {
        if (inner == kNoBlock) continue;
        around[static_cast<std::size_t>(inner)] = step.kind == StepKind::branch ? around[b] : StepPosition{b, s};
        open.push_back(static_cast<std::size_t>(inner));
      }
    }
  }
  return around;
}

std::vector<LoopTransfer> find_loop_transfers(const Program& program, DeviceId device, std::int64_t bytes) {
  const std::vector<Block>& blocks = program.devices[device].blocks;
  const std::vector<std::optional<StepPosition>> around = loops_around(program.devices[device]);
  std::vector<LoopTransfer> found;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!around[b] || !may_repeat(program.graph->nodes[blocks[around[b]->block].steps[around[b]->step].node])) continue;
    for (const Step& step : blocks[b].steps) {
      if ((step.kind != StepKind::send && step.kind != StepKind::receive) || follows(program, step.channel)) continue;
      LoopTransfer transfer{*around[b], travelling(program, step.channel, bytes)};
      if (!transfer.values.empty()) found.push_back(std::move(transfer));
    }
  }
  return found;
}

}  // namespace cleave::runtime
