// DeviceSide, part: decisions of loops and branches on a device: the host sends them, or the device decides by its own values.
#include <algorithm>

#include "executor/memory/control.h"
#include "executor/run/driver/device_side.h"

namespace cleave::runtime {

/// Prepares the outermost loops and branches that the device may run as one command. Each waits for everything that any of its steps must
/// wait for: since nothing is sent or received inside, its first steps would wait for that anyway.
void DeviceSide::prepare_controls() {
  if (!device_.controls()) return;
  const std::vector<Block>& blocks = prepared_.program->devices[id_].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s)
      if (blocks[b].steps[s].by_itself && !controlled_blocks_.contains(b)) prepare_control(blocks[b].steps[s], b, s);
  }
}

void DeviceSide::prepare_control(const Step& step, std::size_t block, std::size_t index) {
  if (plan_.double_buffers(block)) return;  // the storages of its values change during the loop
  const auto kernel_of = [&](NodeId node) -> std::optional<DeviceStep> {
    const KernelId kernel = turn(0).kernels[node];
    if (kernel.valid() && !device_.segments()->joins(kernel)) return std::nullopt;
    return DeviceStep{kernel, {}, {}, node, orders_[node]};
  };
  std::optional<FoundControl> found = find_control(*prepared_.program, id_, plan_, block, index, kernel_of);
  if (!found) return;
  PreparedControl prepared;
  for (const NodeId node : found->nodes) {
    const Work& work = turn(0).work[node];
    prepared.work.reads.insert(prepared.work.reads.end(), work.reads.begin(), work.reads.end());
    prepared.work.writes.insert(prepared.work.writes.end(), work.writes.begin(), work.writes.end());
  }
  note_values(step, prepared.work);
  if (!found->nodes.empty()) prepared.nodes = std::make_shared<const std::vector<NodeId>>(std::move(found->nodes));
  prepared.id = device_.controls()->prepare(std::move(found->control));
  controlled_blocks_.merge(found->blocks);
  controls_.emplace(step.node, std::move(prepared));
}

/// Adds to `work` the values that the control step and the steps inside it read and write: predicates, and moved values.
void DeviceSide::note_values(const Step& step, Work& work) const {
  const auto note = [this](ValueId value, std::vector<StorageIndex>& to) {
    if (value.valid() && storage(value) != kNoStorage) to.push_back(storage(value));
  };
  const Node& node = graph_.nodes[step.node];
  for (const ValueId input : node.inputs) note(input, work.reads);
  for (const RegionId region : node.regions) note(graph_.regions[region].predicate, work.reads);
  for (const std::vector<NodeId>* owned : {&step.carried, &step.merges}) {
    for (const NodeId id : *owned) {
      for (const ValueId value : graph_.nodes[id].inputs) note(value, work.reads);
      for (const ValueId value : graph_.nodes[id].results) note(value, work.writes);
    }
  }
  for (const BlockIndex inner : step.blocks) {
    if (inner == kNoBlock) continue;
    for (const Step& each : prepared_.program->devices[id_].blocks[static_cast<std::size_t>(inner)].steps)
      if (is_control(graph_.nodes[each.node].kind)) note_values(each, work);
  }
}

/// False if each node is checked, or if the decisions have to be known.
bool DeviceSide::runs_whole(const Step& step) const {
  const auto found = controls_.find(step.node);
  return found != controls_.end() && !verify_ && !observes_ && device_.controls()->ready(found->second.id);
}

bool DeviceSide::run_whole(const Step& step, const Origin& here) {
  const PreparedControl& prepared = controls_.at(step.node);
  std::int64_t count = 0;
  if (const std::vector<ValueId>& inputs = graph_.nodes[step.node].inputs; step.kind == StepKind::for_loop && !inputs.empty()) {
    const std::optional<std::int64_t> decided = decide_by_itself(step, inputs[0], here);
    if (!decided) return false;
    count = *decided;
  }
  return launch(prepared, count, here);
}

std::optional<std::int64_t> DeviceSide::decide(const Step& step, ValueId value, const Origin& here) {
  if (step.by_itself) return decide_by_itself(step, value, here);
  std::optional<ControlStream::Decision> decision = prepared_.controls[id_].take(*run_, id_, here);
  if (!decision) return std::nullopt;
  driver_ = std::max(driver_, decision->time);
  return decision->value;
}

/// Reads the device's own predicate on the driver thread, which enqueues nothing meanwhile. On the virtual clock this takes no time, since
/// a device that decides by itself asks no other side.
std::optional<std::int64_t> DeviceSide::decide_by_itself(const Step& step, ValueId value, const Origin& here) {
  const std::optional<std::vector<Array>> there = fetch({value}, here);
  if (!there) return std::nullopt;
  const Result<std::int64_t> decision = decision_of(graph_, step.node, value, there->front().bytes());
  if (decision) return *decision;
  fail(here, decision.error());
  return std::nullopt;
}

void DeviceSide::enter(NodeId control) {
  if (!alone_.contains(control)) return;
  const Node& node = graph_.nodes[control];
  const double trips = node.kind == NodeKind::branch ? 1 : node.expected;  // the trip count that the plan's seconds assume
  double& clock = clock_[static_cast<std::size_t>(Stream::compute)];
  if (trips > 0) clock = std::max(clock, driver_) + prepared_.costs.accelerator_seconds[control] / trips;
}

void DeviceSide::outcome(NodeId control, std::int64_t value) {
  if (observes_ && alone_.contains(control)) observation_.control(control, static_cast<double>(value));
}

}  // namespace cleave::runtime
