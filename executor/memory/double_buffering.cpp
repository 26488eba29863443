#include "executor/memory/double_buffering.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "executor/memory/loop_transfers.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kMostTurns = 4;  ///< the turns for which a loop's steps may be prepared
constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);

/// Finds the double buffers of one loop.
class DoubleBufferPlanner {
 public:
  DoubleBufferPlanner(const Graph& graph, const Step& step, const Liveness::Times& times, const Liveness& liveness, const MemoryPlan& plan)
      : times_(times), liveness_(liveness), plan_(plan) {
    for (const NodeId carried : step.carried) {
      const Node& node = graph.nodes[carried];
      const StorageIndex to = plan.storage_of[node.results[0]], from = plan.storage_of[node.inputs[1]];
      order_.push_back(to);
      source_[to] = from;
      ++readers_[from];  // a value that stays in its storage counts as its own reader
    }
  }

  DoubleBuffers run() {
    std::vector<std::vector<StorageIndex>> cycles;
    for (const bool heads : {true, false}) {
      for (const StorageIndex start : order_) {
        if ((readers(start) == 0) != heads || seen_.contains(start)) continue;
        std::vector<StorageIndex> cycle = follow(start);
        for (const StorageIndex each : cycle) seen_[each] = true;
        if (rotates(cycle)) cycles.push_back(std::move(cycle));
      }
    }
    std::stable_sort(cycles.begin(), cycles.end(), [this](const auto& a, const auto& b) { return bytes(a[0]) > bytes(b[0]); });
    DoubleBuffers double_buffers;
    for (std::vector<StorageIndex>& cycle : cycles) {
      const std::size_t turns = std::lcm(static_cast<std::size_t>(double_buffers.turns), cycle.size());
      if (turns > kMostTurns) continue;
      double_buffers.turns = static_cast<std::int32_t>(turns);
      double_buffers.cycles.push_back(std::move(cycle));
    }
    return double_buffers;
  }

  /// Adds buffers for the transfers in the loop's iterations. The values of one coalesced transfer rotate all or not at all, because one
  /// copy transfers them.
  void add_places(FoundDoubleBuffers& loop, const std::vector<LoopTransfer>& transfers) const {
    const auto turns_already = [&](StorageIndex s) {
      return loop.double_buffers.at(s, 1) != s || std::find(loop.transferred.begin(), loop.transferred.end(), s) != loop.transferred.end();
    };
    for (const LoopTransfer& transfer : transfers) {
      if (transfer.loop != StepPosition{loop.block, loop.step}) continue;
      const auto can_turn = [&](ValueId value) {
        const StorageIndex s = plan_.storage_of[value];
        return turns_already(s) || has_one_trip(s);
      };
      if (!std::all_of(transfer.values.begin(), transfer.values.end(), can_turn)) continue;
      for (const ValueId value : transfer.values)
        if (const StorageIndex s = plan_.storage_of[value]; !turns_already(s)) loop.transferred.push_back(s);
    }
    if (loop.transferred.empty()) return;
    loop.double_buffers.turns = std::max(loop.double_buffers.turns, 2);
    loop.places = loop.double_buffers.turns % 2 == 0 ? 2 : static_cast<std::size_t>(loop.double_buffers.turns);
  }

 private:
  /// The storage is written in every iteration and not read in the next.
  [[nodiscard]] bool has_one_trip(StorageIndex s) const { return !source_.contains(s) && belongs_to_loop(s); }
  [[nodiscard]] std::size_t readers(StorageIndex s) const {
    const auto found = readers_.find(s);
    return found == readers_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::int64_t bytes(StorageIndex s) const { return storage(s).range.bytes; }
  [[nodiscard]] const MemoryPlan::Storage& storage(StorageIndex s) const { return plan_.storages[static_cast<std::size_t>(s)]; }

  /// Follows the sources of storages from `start` on, until the chain ends or is too long.
  [[nodiscard]] std::vector<StorageIndex> follow(StorageIndex start) const {
    std::vector<StorageIndex> cycle = {start};
    while (cycle.size() <= kMostTurns) {
      const auto next = source_.find(cycle.back());
      if (next == source_.end() || next->second == start) break;
      cycle.push_back(next->second);
    }
    return cycle;
  }

  [[nodiscard]] bool rotates(const std::vector<StorageIndex>& cycle) const {
    if (cycle.size() < 2 || cycle.size() > kMostTurns || bytes(cycle[0]) == 0) return false;
    if (std::any_of(cycle.begin() + 1, cycle.end(), [this](StorageIndex s) { return readers(s) != 1; })) return false;
    return std::all_of(cycle.begin(), cycle.end(), [this](StorageIndex s) { return belongs_to_loop(s); });
  }

  /// Whether no value in the storage is live into or out of the loop: made before and used inside, or made inside and used after.
  [[nodiscard]] bool belongs_to_loop(StorageIndex s) const {
    const auto disjoint_or_inside = [this](const Interval& life) {
      return life.end <= times_.begin || life.start >= times_.end || (life.start >= times_.begin && life.end <= times_.end);
    };
    return !storage(s).external && std::all_of(storage(s).values.begin(), storage(s).values.end(), [&](ValueId value) {
      const Liveness::Life& life = liveness_.lives[value];
      return !life.whole_run && std::all_of(life.live.begin(), life.live.end(), disjoint_or_inside);
    });
  }

  const Liveness::Times& times_;
  const Liveness& liveness_;
  const MemoryPlan& plan_;
  std::vector<StorageIndex> order_;  ///< storages of carried values
  std::unordered_map<StorageIndex, StorageIndex> source_;
  std::unordered_map<StorageIndex, std::size_t> readers_;
  std::unordered_map<StorageIndex, bool> seen_;
};

/// Whether the step is a loop that the driver walks. A loop that the device runs as one command is prepared once and cannot rotate.
bool is_loop(const Step& step) {
  return (step.kind == StepKind::for_loop || step.kind == StepKind::while_loop) && !step.by_itself;
}

/// By block: the block of the control step that enters it. A while loop's body and condition have the same parent.
std::vector<std::size_t> parents(const DeviceProgram& program) {
  std::vector<std::size_t> parent(program.blocks.size(), kNoParent);
  for (std::size_t b = 0; b < program.blocks.size(); ++b)
    for (const Step& step : program.blocks[b].steps)
      for (const BlockIndex inner : step.blocks)
        if (inner != kNoBlock) parent[static_cast<std::size_t>(inner)] = b;
  return parent;
}

}  // namespace

std::vector<FoundDoubleBuffers> find_double_buffers(const Program& all, DeviceId device, const Liveness& liveness, const MemoryPlan& plan,
                                                    std::int64_t twice_from) {
  const DeviceProgram& program = all.devices[device];
  const std::vector<Block>& blocks = program.blocks;
  const std::vector<LoopTransfer> transfers = twice_from > 0 ? find_loop_transfers(all, device, twice_from) : std::vector<LoopTransfer>();
  std::vector<FoundDoubleBuffers> loops;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s)
      if (is_loop(blocks[b].steps[s])) loops.push_back({b, s, {}, {}});
  }
  // Inner loops first: they end first.
  const auto end = [&](const FoundDoubleBuffers& loop) { return liveness.times[loop.block][loop.step].end; };
  std::stable_sort(loops.begin(), loops.end(), [&](const auto& a, const auto& b) { return end(a) < end(b); });
  const std::vector<std::size_t> parent = parents(program);
  std::vector<std::uint8_t> has_one(blocks.size(), 0);  ///< has a rotating loop inside, or a command that needs fixed storages
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (std::none_of(blocks[b].steps.begin(), blocks[b].steps.end(), [](const Step& step) { return step.by_itself; })) continue;
    for (std::size_t a = b; a != kNoParent && !has_one[a]; a = parent[a]) has_one[a] = 1;
  }
  std::vector<FoundDoubleBuffers> found;
  for (FoundDoubleBuffers& loop : loops) {
    const Step& step = blocks[loop.block].steps[loop.step];
    const auto taken = [&](BlockIndex inner) { return inner != kNoBlock && has_one[static_cast<std::size_t>(inner)]; };
    if (taken(step.blocks[0]) || taken(step.blocks[1])) continue;
    DoubleBufferPlanner finder(*all.graph, step, liveness.times[loop.block][loop.step], liveness, plan);
    loop.double_buffers = finder.run();
    finder.add_places(loop, transfers);
    if (loop.double_buffers.turns == 1) continue;
    for (std::size_t b = loop.block; b != kNoParent && !has_one[b]; b = parent[b]) has_one[b] = 1;
    found.push_back(std::move(loop));
  }
  return found;
}

std::vector<std::int32_t> index_double_buffers(const DeviceProgram& program, const std::vector<FoundDoubleBuffers>& found) {
  std::vector<std::int32_t> own(program.blocks.size(), -1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const BlockIndex inner : program.blocks[found[i].block].steps[found[i].step].blocks)
      if (inner != kNoBlock) own[static_cast<std::size_t>(inner)] = static_cast<std::int32_t>(i);
  }
  const std::vector<std::size_t> parent = parents(program);
  std::vector<std::int32_t> double_buffers_by_block(program.blocks.size(), -1);
  for (std::size_t b = 0; b < double_buffers_by_block.size(); ++b)
    for (std::size_t a = b; a != kNoParent && double_buffers_by_block[b] < 0; a = parent[a]) double_buffers_by_block[b] = own[a];
  return double_buffers_by_block;
}

}  // namespace cleave::runtime
