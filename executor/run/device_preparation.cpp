// DeviceSide, part: preparation before any run: kernels, coalesced transfers and segments, once for each turn of the loops with rotating
// buffers.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "executor/memory/loop_transfers.h"
#include "executor/run/device_side.h"
#include "graph/states.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kShortestSegment = 3;  ///< number of operations and copies; shorter segments gain nothing from one launch

StorageIndex at(const DoubleBuffers* double_buffers, StorageIndex s, std::int32_t turn) {
  return double_buffers ? double_buffers->at(s, turn) : s;
}
std::int32_t turns_of(const DoubleBuffers* double_buffers) {
  return double_buffers ? double_buffers->turns : 1;
}

}  // namespace

DeviceSide::DeviceSide(Prepared& prepared, DeviceId id)
    : prepared_(prepared),
      graph_(prepared.graph()),
      id_(id),
      device_(*prepared.devices[id]),
      streams_(device_.streams()),
      fusion_(prepared.fusions[id]),
      plan_(prepared.plans[id]),
      arrivals_(prepared.program->channels.size()),
      orders_(graph_.nodes.size()),
      hazards_(watch_transfers(prepared, id)),
      measured_(prepared, id, device_.timestamps(), track_) {
  std::int32_t most = 1;
  for (const DoubleBuffers& double_buffers : plan_.double_buffered_loops) most = std::max(most, double_buffers.turns);
  turns_.resize(static_cast<std::size_t>(most));
  for (Turn& turn : turns_) {
    turn.kernels.resize(graph_.nodes.size());
    turn.work.resize(graph_.nodes.size());
    turn.members.resize(graph_.nodes.size());
    turn.travelling.resize(prepared.program->channels.size());
  }
}

Hazards DeviceSide::watch_transfers(const Prepared& prepared, DeviceId id) {
  std::vector<StorageIndex> transferred;
  for (const Channel& channel : prepared.program->channels) {
    StorageIndex storage = prepared.plans[id].storage_of[channel.value];
    if ((channel.from != id && channel.to != id) || storage == kNoStorage) continue;
    transferred.push_back(storage);
    for (const DoubleBuffers& double_buffers : prepared.plans[id].double_buffered_loops)
      for (std::int32_t turn = 1; turn < double_buffers.turns; ++turn)
        if (const StorageIndex there = double_buffers.at(storage, turn); there != storage) transferred.push_back(there);
  }
  return {prepared.plans[id], transferred};
}

Result<std::unique_ptr<DeviceSide>> DeviceSide::create(Prepared& prepared, DeviceId id) {
  std::unique_ptr<DeviceSide> side(new DeviceSide(prepared, id));
  if (Status status = side->device_.allocate(side->plan_.arena_bytes, side->kept_ranges()); !status) return status.error();
  side->announce_kernels();
  if (Status status = side->prepare_steps(); !status) return status.error();
  if (Status status = side->prepare_travelling(); !status) return status.error();
  if (Status room = side->alone_.empty() ? Status() : side->make_room_to_fetch(); !room) return room.error();
  if (Status status = side->prepare_overlaps(); !status) return status.error();
  side->prepare_controls();
  side->find_awaited();
  side->prepare_segments();
  return side;
}

/// The ranges of constants, and of inputs and parameters that no run changes.
std::vector<Range> DeviceSide::kept_ranges() const {
  std::set<NodeId> changing;
  for (const GraphState& state : states_of(graph_))
    if (!state.fixed()) changing.insert(state.leaf);
  std::vector<Range> kept;
  for (const Block& block : prepared_.program->devices[id_].blocks) {
    for (const Step& step : block.steps) {
      const Node& node = graph_.nodes[step.node];
      const bool leaf = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
      if (step.kind != StepKind::compute) continue;
      if (node.kind == NodeKind::constant || (leaf && !changing.contains(step.node))) kept.push_back(plan_.range(node.results[0]));
    }
  }
  return kept;
}

/// Prepares kernels, and uploads the constants, which stay on the device.
Status DeviceSide::prepare_steps() {
  const std::vector<Block>& blocks = prepared_.program->devices[id_].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s) {
      const Step& step = blocks[b].steps[s];
      const Node& node = graph_.nodes[step.node];
      if (step.by_itself) alone_.insert(step.node);
      if (step.kind != StepKind::compute) continue;
      orders_[step.node] = step.order;
      const bool leaf = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
      if (node.kind == NodeKind::constant) {
        if (Status status = upload(step.node, node.attributes.get<Array>("value")); !status) return status;
      }
      if (leaf) leaves_.push_back(step.node);
      if (node.kind != NodeKind::operation || plan_.blocks[b][s].nothing) continue;
      if (Status status = prepare_kernel(step.node, plan_.double_buffers(b)); !status) return status;
    }
  }
  for (const GraphState& state : states_of(graph_))
    if (std::find(leaves_.begin(), leaves_.end(), state.leaf) != leaves_.end())
      states_.push_back({storage(state.value), storage(state.next)});
  return {};
}

Status DeviceSide::prepare_travelling() {
  const std::vector<Block>& blocks = prepared_.program->devices[id_].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const Step& step : blocks[b].steps) {
      if ((step.kind != StepKind::send && step.kind != StepKind::receive) || follows(*prepared_.program, step.channel)) continue;
      for (std::int32_t turn = 0; turn < turns_of(plan_.double_buffers(b)); ++turn)
        if (Status status = prepare_travelling(step.channel, plan_.double_buffers(b), turn); !status) return status;
    }
  }
  return {};
}

Status DeviceSide::prepare_travelling(ChannelId id, const DoubleBuffers* double_buffers, std::int32_t number) {
  const Program& program = *prepared_.program;
  const Channel& channel = program.channels[id];
  Travelling& travelling = turn(number).travelling[id];
  for (const ChannelId each : travelling_with(program, id)) {
    const StorageIndex there = at(double_buffers, storage(program.channels[each].value), number);
    travelling.storages.push_back(there);
    travelling.seconds += prepared_.costs.channel_seconds[each];
    travelling.ranges.push_back({range(there), program.channels[each].offset});
  }
  CoalescedCopies* const copies = device_.coalesced_copies();
  if (!channel.coalesced || !copies) return {};
  if (number > 0 && travelling.storages == turn(0).travelling[id].storages) {
    travelling.pieces = turn(0).travelling[id].pieces;
    return {};
  }
  Result<PiecesId> prepared = copies->prepare(travelling.ranges, channel.to == id_ ? Stream::to_device : Stream::to_host);
  if (!prepared) return at_node(graph_, graph_.values[channel.value].producer, prepared.error());
  travelling.pieces = *prepared;
  return {};
}

/// Finds the last command of a trip that accesses an incoming value in rotating buffers: the copy of a later trip waits for that command,
/// and for no other.
void DeviceSide::find_awaited() {
  const DeviceProgram& program = prepared_.program->devices[id_];
  const std::vector<std::optional<StepPosition>> around = loops_around(program);
  std::vector<std::optional<StepPosition>> comes_in(plan_.storages.size());  ///< the loop
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    for (const Step& step : program.blocks[b].steps) {
      if (step.kind != StepKind::receive || prepared_.exchanges[travelling_with(*prepared_.program, step.channel)[0]]) continue;
      const StorageIndex s = storage(step.value);
      if (at(plan_.double_buffers(b), s, 1) != s) comes_in[static_cast<std::size_t>(s)] = around[b];
    }
  }
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    if (!around[b]) continue;
    std::set<StorageIndex> done;
    for (auto step = program.blocks[b].steps.rbegin(); step != program.blocks[b].steps.rend(); ++step) {
      if (step->kind != StepKind::compute) continue;
      const Work& work = turn(0).work[step->node];
      bool last = false;
      for (const std::vector<StorageIndex>* touched : {&work.reads, &work.writes})
        for (const StorageIndex s : *touched) last |= comes_in[static_cast<std::size_t>(s)] == around[b] && done.insert(s).second;
      for (std::int32_t number = 0; last && number < turns_of(plan_.double_buffers(b)); ++number)
        turn(number).work[step->node].awaited = true;
    }
  }
}

/// Announces the kernels of all steps, each for its first turn: those of other turns differ only in addresses.
void DeviceSide::announce_kernels() {
  std::vector<KernelRequest> requests;
  const std::vector<Block>& blocks = prepared_.program->devices[id_].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s) {
      const Step& step = blocks[b].steps[s];
      const FusionGroup* group = fusion_.group(step.node);
      if (step.kind != StepKind::compute || graph_.nodes[step.node].kind != NodeKind::operation) continue;
      if (plan_.blocks[b][s].nothing || (group && step.node != group->nodes.back())) continue;
      requests.push_back(request_of(step.node, work_of(step.node, plan_.double_buffers(b), 0)));
    }
  }
  device_.announce(requests);
}

DeviceSide::Work DeviceSide::work_of(NodeId id, const DoubleBuffers* double_buffers, std::int32_t number) const {
  const Node& node = graph_.nodes[id];
  const FusionGroup* group = fusion_.group(id);
  Work work;
  for (ValueId input : group ? group->inputs : node.inputs) work.reads.push_back(at(double_buffers, storage(input), number));
  for (ValueId result : group ? group->results : node.results) work.writes.push_back(at(double_buffers, storage(result), number));
  work.seconds = prepared_.costs.accelerator_seconds[id];
  return work;
}

/// Prepares the kernel of one operation, or of the whole group of which it is the last; nothing for a node that runs with a later one.
Status DeviceSide::prepare_kernel(NodeId id, const DoubleBuffers* double_buffers) {
  const FusionGroup* group = fusion_.group(id);
  if (group && id != group->nodes.back()) return {};
  for (std::int32_t turn = 0; turn < turns_of(double_buffers); ++turn)
    if (Status status = prepare_kernel(id, double_buffers, turn); !status) return status;
  return {};
}

Status DeviceSide::prepare_kernel(NodeId id, const DoubleBuffers* double_buffers, std::int32_t number) {
  Work& work = turn(number).work[id];
  work = work_of(id, double_buffers, number);
  const Work& first = turn(0).work[id];
  if (number > 0 && work.reads == first.reads && work.writes == first.writes) {
    turn(number).kernels[id] = turn(0).kernels[id];
    return {};
  }
  Result<KernelId> kernel = device_.prepare(request_of(id, work));
  if (!kernel) return at_node(graph_, id, kernel.error());
  turn(number).kernels[id] = *kernel;
  return {};
}

KernelRequest DeviceSide::request_of(NodeId id, const Work& work) const {
  const Node& node = graph_.nodes[id];
  KernelRequest request{id, node.op, &prepared_.attributes(id), {}, {}, {}, {}, {}, {}};
  if (const FusionGroup* group = fusion_.group(id)) {
    request = request_for(graph_, *group);
  } else {
    for (ValueId input : node.inputs) request.input_types.push_back(graph_.values[input].type);
    for (ValueId result : node.results) request.result_types.push_back(graph_.values[result].type);
  }
  for (const StorageIndex s : work.reads) request.inputs.push_back(range(s));
  for (const StorageIndex s : work.writes) request.results.push_back(range(s));
  return request;
}

/// Prepares the ranges of the step lists that the device runs as one command. Each waits for everything that any of its steps must wait
/// for: since ranges end at transfers, its first steps wait for that anyway.
void DeviceSide::prepare_segments() {
  if (!device_.segments()) return;
  const IdVector<NodeId, KernelId>& kernels = turn(0).kernels;
  const auto joins = [&](NodeId node) {
    return !kernels[node].valid() || (device_.segments()->joins(kernels[node]) && !in_parts_.contains(node));
  };
  const std::vector<Segment> found = find_segments(*prepared_.program, id_, plan_, kShortestSegment, joins);
  for (const Segment& segment : found) {
    if (controlled_blocks_.contains(segment.block)) continue;
    std::vector<NodeId> nodes = segment.nodes;
    std::erase_if(nodes, [&](NodeId node) { return !kernels[node].valid(); });  // these run with a later one
    if (nodes.empty() || nodes.size() + (segment.moves ? segment.moves->size() : 0) < kShortestSegment) continue;
    if (segment.moves) prepared_moves_.insert(segment.moves);
    prepare_segment(segment, std::move(nodes));
  }
}

/// Prepares the segment for each turn in which any of its storages differs.
void DeviceSide::prepare_segment(const Segment& segment, std::vector<NodeId> nodes) {
  const DoubleBuffers* double_buffers = plan_.double_buffers(segment.block);
  const std::size_t first = segments_.size();
  const auto together = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
  for (std::int32_t number = 0; number < turns_of(double_buffers); ++number) {
    PreparedSegment prepared;
    std::vector<DeviceStep> steps;
    prepared.nodes = together;
    for (const NodeId node : *together) {
      steps.push_back({turn(number).kernels[node], {}, {}, node, orders_[node]});
      const Work& work = turn(number).work[node];
      prepared.work.reads.insert(prepared.work.reads.end(), work.reads.begin(), work.reads.end());
      prepared.work.writes.insert(prepared.work.writes.end(), work.writes.begin(), work.writes.end());
      prepared.work.seconds += work.seconds;
      prepared.work.awaited |= work.awaited;
    }
    for (const Move& move : segment.moves ? *segment.moves : std::vector<Move>()) {
      const StorageIndex to = at(double_buffers, move.to, number), from = at(double_buffers, move.from, number);
      steps.push_back({{}, range(to), range(from), {}, 0});
      prepared.work.reads.push_back(from);
      prepared.work.writes.push_back(to);
    }
    std::size_t index = first;
    if (number == 0 || prepared.work.reads != segments_[first].work.reads || prepared.work.writes != segments_[first].work.writes) {
      index = segments_.size();
      prepared.id = device_.segments()->prepare(std::move(steps));
      segments_.push_back(std::move(prepared));
    }
    for (const NodeId node : *together) turn(number).members[node] = {static_cast<std::int32_t>(index), node == together->front()};
  }
}

}  // namespace cleave::runtime
