#include "executor/run/prepare/device_segments.h"

#include <memory>
#include <utility>

#include "executor/device/segments.h"
#include "executor/memory/segments.h"
#include "executor/run/commands/rotation.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kShortestSegment = 3;  ///< number of operations and copies; shorter segments gain nothing from one launch

/// Each segment waits for everything that any of its steps must wait for: since segments end at transfers, its first steps wait for that
/// anyway.
void prepare_segment(const Prepared& prepared, DeviceId id, const Segment& segment, std::vector<NodeId> nodes, DeviceCommands& commands) {
  const MemoryPlan& plan = prepared.plans[id];
  const DoubleBuffers* double_buffers = plan.double_buffers(segment.block);
  const std::size_t first = commands.segments.size();
  const auto together = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
  for (std::int32_t number = 0; number < turns_of(double_buffers); ++number) {
    DeviceCommands::Turn& turn = commands.turn(number);
    LaunchedSegment next;
    std::vector<DeviceStep> steps;
    next.nodes = together;
    for (const NodeId node : *together) {
      steps.push_back({turn.kernels[node], {}, {}, node, commands.orders[node]});
      next.work.access(turn.work[node]);
      next.work.seconds += turn.work[node].seconds;
      next.work.awaited |= turn.work[node].awaited;
    }
    for (const Move& move : segment.moves ? *segment.moves : std::vector<Move>()) {
      const StorageIndex to = storage_in_turn(double_buffers, move.to, number), from = storage_in_turn(double_buffers, move.from, number);
      steps.push_back({{}, plan.range(to), plan.range(from), {}, 0});
      next.work.reads.push_back(from);
      next.work.writes.push_back(to);
    }
    std::size_t index = first;
    const auto is_first = [&] {
      const Work& work = commands.segments[first].work;
      return next.work.reads == work.reads && next.work.writes == work.writes;
    };
    if (number == 0 || !is_first()) {
      index = commands.segments.size();
      next.id = prepared.devices[id]->segments()->prepare(std::move(steps));
      commands.segments.push_back(std::move(next));
    }
    for (const NodeId node : *together) turn.members[node] = {static_cast<std::int32_t>(index), node == together->front()};
  }
}

}  // namespace

void prepare_segments(const Prepared& prepared, DeviceId id, DeviceCommands& commands) {
  Segments* const device = prepared.devices[id]->segments();
  if (!device) return;
  const IdVector<NodeId, KernelId>& kernels = commands.turn(0).kernels;
  const auto joins = [&](NodeId node) {
    return !kernels[node].valid() || (device->joins(kernels[node]) && !commands.by_rows.contains(node));
  };
  for (const Segment& segment : find_segments(*prepared.program, id, prepared.plans[id], kShortestSegment, joins)) {
    if (commands.controlled_blocks.contains(segment.block)) continue;
    std::vector<NodeId> nodes = segment.nodes;
    std::erase_if(nodes, [&](NodeId node) { return !kernels[node].valid(); });  // these run with a later one
    if (nodes.empty() || nodes.size() + (segment.moves ? segment.moves->size() : 0) < kShortestSegment) continue;
    if (segment.moves) commands.prepared_moves.insert(segment.moves);
    prepare_segment(prepared, id, segment, std::move(nodes), commands);
  }
}

}  // namespace cleave::runtime
