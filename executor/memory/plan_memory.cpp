#include "executor/memory/plan_memory.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <unordered_map>

#include "executor/memory/arena.h"
#include "executor/memory/double_buffering.h"
#include "executor/memory/keep_separate.h"
#include "executor/memory/liveness.h"
#include "graph/base/units.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kMostMembers = 64;  ///< of one storage, counted in live ranges; beyond it nothing joins
constexpr std::size_t kAtPeak = 8;        ///< the number of values that a message names

/// Values that share storage, as a disjoint-set forest over the values of the device.
class Classes {
 public:
  Classes(const Graph& graph, const Liveness& liveness) : graph_(graph), parent_(graph.values.size()), members_(graph.values.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (std::size_t v = 0; v < parent_.size(); ++v) members_[v] = liveness.lives[ValueId(v)].live;
  }

  std::uint32_t find(std::uint32_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

  /// Joins the classes of two values unless their live ranges conflict. Aliases (Why::same) join without a check: they come first, when
  /// their classes have no other members.
  void join(const Sharing& sharing) {
    std::uint32_t ra = find(sharing.a.index), rb = find(sharing.b.index);
    if (ra == rb || graph_.values[sharing.a].type.bytes() != graph_.values[sharing.b].type.bytes()) return;
    if (members_[ra].size() + members_[rb].size() > kMostMembers) return;
    if (sharing.why != Sharing::Why::same && conflict(members_[ra], members_[rb])) return;
    if (rb < ra) std::swap(ra, rb);
    parent_[rb] = ra;
    members_[ra].insert(members_[ra].end(), members_[rb].begin(), members_[rb].end());
    merge_touching(members_[ra]);
    members_[rb] = {};
  }

 private:
  static bool conflict(const std::vector<Interval>& a, const std::vector<Interval>& b) {
    return std::any_of(a.begin(), a.end(), [&](const Interval& x) {
      return std::any_of(b.begin(), b.end(), [&](const Interval& y) { return x.conflicts(y); });
    });
  }

  /// Keeps the list short for chains of in-place updates: live ranges that touch or overlap are merged.
  static void merge_touching(std::vector<Interval>& lives) {
    std::sort(lives.begin(), lives.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < lives.size(); ++i) {
      // A range of a single moment is kept, so that a conflict with another range that starts then is found.
      if (lives[i].start <= lives[kept].end && lives[i].start < lives[i].end) {
        lives[kept].end = std::max(lives[kept].end, lives[i].end);
      } else {
        lives[++kept] = lives[i];
      }
    }
    lives.resize(kept + 1);
  }

  const Graph& graph_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::vector<Interval>> members_;
};

class Planner {
 public:
  Planner(const Program& program, DeviceId device, bool arrays_external, const Fusion& fusion, const Spending& spending,
          SeparateValues separate = {})
      : all_(program),
        graph_(*program.graph),
        device_(device),
        program_(program.devices[device]),
        arrays_external_(arrays_external),
        spending_(spending),
        separate_(std::move(separate)),
        liveness_(find_liveness(program, device, fusion, spending.slack)) {}

  MemoryPlan run(const Fusion& fusion) {
    plan_.storage_of.resize(graph_.values.size(), kNoStorage);
    make_storages();
    make_steps(fusion);
    if (spending_.rotate) rotate();
    make_moves();
    place();
    for (std::size_t s = 0; s < held_.size(); ++s) find_death(static_cast<StorageIndex>(s));
    assign_deaths();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Liveness::Life& life(ValueId value) const { return liveness_.lives[value]; }

  void make_storages() {
    Classes classes(graph_, liveness_);
    for (const Sharing& sharing : liveness_.sharings) {
      if (!separate_.allows(sharing) || !life(sharing.a).present || !life(sharing.b).present || life(sharing.a).whole_run ||
          life(sharing.b).whole_run)
        continue;
      classes.join(sharing);
    }
    std::vector<StorageIndex> of_class(graph_.values.size(), kNoStorage);
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      ValueId value{v};
      if (!life(value).present) continue;
      StorageIndex& storage = of_class[classes.find(value.index)];
      if (storage == kNoStorage) {
        storage = add_storage(graph_.values[value].type.bytes());
        plan_.storages.back().external = arrays_external_ && life(value).whole_run;
      }
      Interval& held = held_[static_cast<std::size_t>(storage)];
      held.include(life(value).held.start, life(value).held.end);
      if (life(value).whole_run) held = {-1, liveness_.end};
      plan_.storages[static_cast<std::size_t>(storage)].values.push_back(value);
      plan_.storage_of[value] = storage;
    }
    for (const Output& output : graph_.outputs) {
      const StorageIndex s = plan_.storage_of[output.value];
      if (!arrays_external_ || s == kNoStorage || plan_.storages[static_cast<std::size_t>(s)].external) continue;
      plan_.storages[static_cast<std::size_t>(s)].external = plan_.storages[static_cast<std::size_t>(s)].leaves = true;
    }
  }

  StorageIndex add_storage(std::int64_t bytes) {
    plan_.storages.push_back({{0, bytes}, false, false, {}});
    held_.emplace_back();
    return static_cast<StorageIndex>(plan_.storages.size() - 1);
  }

  void make_steps(const Fusion& fusion) {
    for (const Block& block : program_.blocks) {
      std::vector<StepPlan>& steps = plan_.blocks.emplace_back(block.steps.size());
      for (std::size_t s = 0; s < steps.size(); ++s) steps[s].nothing = renames_in_place(block.steps[s], fusion);
    }
  }
  [[nodiscard]] bool renames_in_place(const Step& step, const Fusion& fusion) const {
    const Node& node = graph_.nodes[step.node];
    return step.kind == StepKind::compute && node.kind == NodeKind::operation && node.op->keeps_bytes && !arrays_external_ &&
           !fusion.group(step.node) && plan_.storage_of[node.inputs[0]] == plan_.storage_of[node.results[0]];
  }

  /// Double-buffered storage is reserved for the whole loop.
  void rotate() {
    std::vector<FoundDoubleBuffers> found = find_double_buffers(all_, device_, liveness_, plan_, spending_.twice_from);
    plan_.double_buffers_by_block = index_double_buffers(program_, found);
    for (FoundDoubleBuffers& loop : found) {
      const Liveness::Times& times = liveness_.times[loop.block][loop.step];
      for (const StorageIndex first : loop.transferred) {
        std::vector<StorageIndex> places = {first};
        while (places.size() < loop.places) places.push_back(add_storage(plan_.storages[static_cast<std::size_t>(first)].range.bytes));
        loop.double_buffers.cycles.push_back(std::move(places));
      }
      for (const std::vector<StorageIndex>& cycle : loop.double_buffers.cycles)
        for (const StorageIndex each : cycle) held_[static_cast<std::size_t>(each)].include(times.begin, times.end);
      plan_.blocks[loop.block][loop.step].double_buffers = static_cast<std::int32_t>(plan_.double_buffered_loops.size());
      plan_.double_buffered_loops.push_back(std::move(loop.double_buffers));
    }
  }

  void make_moves() {
    for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
      const std::vector<Step>& steps = program_.blocks[b].steps;
      for (std::size_t s = 0; s < steps.size(); ++s) {
        StepPlan& step = plan_.blocks[b][s];
        const Liveness::Times& times = liveness_.times[b][s];
        step.entry = sequence(moves(steps[s].carried, 0, 0), times.begin);
        std::vector<Move> trip = moves(steps[s].carried, 0, 1);
        if (step.double_buffers >= 0)
          take_turns(trip, plan_.double_buffered_loops[static_cast<std::size_t>(step.double_buffers)], times.end);
        step.trip = sequence(std::move(trip), times.end);
        for (std::size_t arm = 0; arm < 2; ++arm) step.merge[arm] = sequence(moves(steps[s].merges, 0, arm), times.arm_end[arm]);
      }
    }
  }

  /// The moves results[result] = inputs[input] of all `nodes`, as parallel assignments.
  std::vector<Move> moves(const std::vector<NodeId>& nodes, std::size_t result, std::size_t input) const {
    std::vector<Move> all;
    for (const NodeId id : nodes) {
      const Move move{plan_.storage_of[graph_.nodes[id].results[result]], plan_.storage_of[graph_.nodes[id].inputs[input]]};
      if (move.to != move.from) all.push_back(move);
    }
    return all;
  }

  /// Removes from `trip` the copies that `double_buffers` saves, and adds the copies that bring the results to their storage after each
  /// possible turn.
  void take_turns(std::vector<Move>& trip, DoubleBuffers& double_buffers, Time end) {
    const auto saved =
        std::stable_partition(trip.begin(), trip.end(), [&](const Move& move) { return double_buffers.at(move.to, 1) == move.to; });
    double_buffers.home.emplace_back();
    for (std::int32_t turn = 1; turn < double_buffers.turns; ++turn) {
      std::vector<Move> home;
      for (auto move = saved; move != trip.end(); ++move)
        if (const StorageIndex from = double_buffers.at(move->to, turn); from != move->to) home.push_back({move->to, from});
      double_buffers.home.push_back(sequence(std::move(home), end));
    }
    trip.erase(saved, trip.end());
  }

  /// Orders parallel assignments as sequential copies: a storage is written only after all copies from it. The remaining moves are cycles,
  /// each broken by a copy to a new storage.
  std::vector<Move> sequence(std::vector<Move> pending, Time time) {
    std::vector<Move> ordered;
    std::unordered_map<StorageIndex, std::size_t> reads;   // by storage: pending copies from it
    std::unordered_map<StorageIndex, std::size_t> writer;  // by storage: the pending move that writes it
    for (std::size_t i = 0; i < pending.size(); ++i) {
      ++reads[pending[i].from];
      writer[pending[i].to] = i;
    }
    std::vector<bool> done(pending.size());
    std::queue<std::size_t> ready;
    auto make = [&](std::size_t i) {
      ordered.push_back(pending[i]);
      done[i] = true;
      auto next = writer.find(pending[i].from);
      if (--reads[pending[i].from] == 0 && next != writer.end() && !done[next->second]) ready.push(next->second);
    };
    auto make_ready = [&] {
      for (; !ready.empty(); ready.pop()) make(ready.front());
    };
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (reads[pending[i].to] == 0) ready.push(i);
    }
    make_ready();
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (done[i]) continue;
      StorageIndex kept = add_storage(plan_.storages[static_cast<std::size_t>(pending[i].to)].range.bytes);
      held_[static_cast<std::size_t>(kept)].include(time, time);
      ordered.push_back({kept, pending[i].to});
      for (std::size_t j = 0; j < pending.size(); ++j) {
        if (!done[j] && pending[j].from == pending[i].to) pending[j].from = kept;
      }
      reads[kept] = reads[pending[i].to];
      reads[pending[i].to] = 0;
      make(i);
      make_ready();
    }
    return ordered;
  }

  /// Assigns best-fit offsets, in the order in which storages become live.
  void place() {
    std::vector<StorageIndex> order;
    for (std::size_t s = 0; s < held_.size(); ++s) {
      if (!plan_.storages[s].external) order.push_back(static_cast<StorageIndex>(s));
    }
    auto held = [&](StorageIndex s) -> const Interval& { return held_[static_cast<std::size_t>(s)]; };
    std::stable_sort(order.begin(), order.end(), [&](StorageIndex a, StorageIndex b) { return held(a).start < held(b).start; });
    auto later = [&](StorageIndex a, StorageIndex b) { return held(a).end > held(b).end; };
    std::priority_queue<StorageIndex, std::vector<StorageIndex>, decltype(later)> taken(later);
    Arena arena;
    Time fullest = 0;
    for (StorageIndex s : order) {
      for (; !taken.empty() && held(taken.top()).end < held(s).start; taken.pop()) {
        const Range& range = plan_.storages[static_cast<std::size_t>(taken.top())].range;
        arena.give_back(range.offset, range.bytes);
      }
      Range& range = plan_.storages[static_cast<std::size_t>(s)].range;
      std::int64_t before = arena.peak();
      range.offset = arena.take(range.bytes);
      if (arena.peak() > before) fullest = held(s).start;
      taken.push(s);
    }
    plan_.arena_bytes = arena.peak();
    plan_.fullest = operation_at(fullest);
    for (StorageIndex s : order) {
      if (held(s).start <= fullest && fullest <= held(s).end) plan_.at_peak.push_back(s);
    }
    std::stable_sort(plan_.at_peak.begin(), plan_.at_peak.end(), [&](StorageIndex a, StorageIndex b) {
      return plan_.storages[static_cast<std::size_t>(a)].range.bytes > plan_.storages[static_cast<std::size_t>(b)].range.bytes;
    });
  }

  /// The last operation or piece of control flow that begins by then.
  [[nodiscard]] NodeId operation_at(Time time) const {
    NodeId found;
    Time latest = -1;
    for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
      for (std::size_t s = 0; s < program_.blocks[b].steps.size(); ++s) {
        const Step& step = program_.blocks[b].steps[s];
        const Time begin = liveness_.times[b][s].begin;
        if (step.kind == StepKind::send || step.kind == StepKind::receive || begin / 2 > time / 2 || begin < latest) continue;
        latest = begin;
        found = step.node;
      }
    }
    return found;
  }

  void find_death(StorageIndex s) {
    Time end = held_[static_cast<std::size_t>(s)].end;
    if (!plan_.storages[static_cast<std::size_t>(s)].external && end < liveness_.end) deaths_[end / 2].push_back(s);
  }

  void assign_deaths() {
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      for (std::size_t s = 0; s < plan_.blocks[b].size(); ++s) {
        auto found = deaths_.find(liveness_.times[b][s].end / 2);
        if (found != deaths_.end()) plan_.blocks[b][s].dies = found->second;
      }
    }
  }

  const Program& all_;
  const Graph& graph_;
  const DeviceId device_;
  const DeviceProgram& program_;
  bool arrays_external_;
  const Spending spending_;
  const SeparateValues separate_;
  Liveness liveness_;
  MemoryPlan plan_;
  std::vector<Interval> held_;  ///< by storage
  std::unordered_map<Time, std::vector<StorageIndex>> deaths_;
};

}  // namespace

MemoryPlan plan_memory(const Program& program, DeviceId device, bool arrays_external, const Fusion& fusion, const Spending& spending) {
  MemoryPlan plan = Planner(program, device, arrays_external, fusion, spending).run(fusion);
  if (!spending.rotate || spending.twice_from == 0) return plan;
  const std::vector<LoopTransfer> transfers = find_loop_transfers(program, device, spending.twice_from);
  std::vector<StepPosition> loops = waiting_loops(transfers, plan);
  for (int attempt = 0; attempt < 2 && !loops.empty(); ++attempt) {
    MemoryPlan separate =
        Planner(program, device, arrays_external, fusion, spending, keep_separate(program, device, transfers, loops)).run(fusion);
    std::vector<StepPosition> better = better_loops(loops, transfers, program.devices[device], plan, separate);
    if (better.size() == loops.size()) return separate;
    loops = std::move(better);
  }
  return plan;
}

MemoryPeak memory_peak(const Program& program, DeviceId device) {
  const MemoryPlan plan = plan_memory(program, device, false);
  MemoryPeak peak;
  peak.bytes = static_cast<double>(plan.arena_bytes);
  peak.at = plan.fullest;
  for (const StorageIndex s : plan.at_peak) {
    const MemoryPlan::Storage& storage = plan.storages[static_cast<std::size_t>(s)];
    if (storage.values.empty()) continue;
    if (peak.largest.size() < kAtPeak) peak.largest.push_back(storage.values[0]);
    peak.held.push_back({storage.values, static_cast<double>(storage.range.bytes)});
  }
  return peak;
}

Error does_not_fit(const Program& program, DeviceId device, const MemoryPlan& plan, double capacity) {
  const Graph& graph = *program.graph;
  Error error;
  error.kind = ErrorKind::machine;
  error.message = "the program needs " + format_bytes(static_cast<double>(plan.arena_bytes)) + " on " + to_string(device) +
                  (capacity > 0 ? ", which has " + format_bytes(capacity) : ", which has less");
  const char* joint = "; at the peak there are ";
  for (std::size_t k = 0; k < std::min(kAtPeak, plan.at_peak.size()); ++k) {
    const MemoryPlan::Storage& storage = plan.storages[static_cast<std::size_t>(plan.at_peak[k])];
    if (storage.values.empty()) continue;
    NodeId producer = graph.values[storage.values[0]].producer;
    if (!error.location.known()) error.location = graph.nodes[producer].location;
    error.message += joint + ("`" + graph.display_name(producer) + "` (" + to_string(graph.values[storage.values[0]].type) + ", " +
                              format_bytes(static_cast<double>(storage.range.bytes)) + ")");
    joint = ", ";
  }
  return error;
}

}  // namespace cleave::runtime
