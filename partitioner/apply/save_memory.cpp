#include "partitioner/apply/save_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <set>
#include <utility>

#include "graph/passes/recompute.h"
#include "partitioner/solver/saved_values.h"

namespace cleave::planner {
namespace {

using How = SavedValues::How;
using Value = SavedValuesProblem::Value;

constexpr double kAlignment = 256;  ///< an upper bound on the alignment of values
constexpr int kMostTries = 24;      ///< programs
constexpr int kMostTurns = 4;       ///< placements
/// Numbers of segments of the part in front of the peak. Of all but the last only what the next one reads is kept, so that what is computed
/// again lives together for one segment only (T. Chen et al., Training deep nets with sublinear memory cost, 2016). 0: no segments.
constexpr std::array<std::size_t, 9> kSegments = {0, 2, 3, 4, 6, 8, 12, 16, 24};

/// The values in front of the peak in the region of the peak, and in those around it.
class CrossingValues {
 public:
  CrossingValues(const Graph& graph, const CostedProblem& costed, const Placement& placement, NodeId peak)
      : graph_(graph),
        costed_(costed),
        placement_(placement),
        is_sent_(graph.values.size(), false),
        readers_(graph.nodes.size()),
        index_(graph.nodes.size(), -1) {
    for (const PlannedTransfer& transfer : placement.transfers)
      if (transfer.to == kHost) is_sent_[ValueId(static_cast<std::size_t>(transfer.value))] = true;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const ValueId input : graph.nodes[NodeId(i)].inputs) readers_[graph.values[input].producer].push_back(NodeId(i));
    std::vector<NodeId> moments;
    for (NodeId at = peak; at.valid(); at = graph.regions[graph.nodes[at].region].owner)
      if (moments.empty() || !is_condition(graph.nodes[at].region)) moments.push_back(at);
    if (is_condition(graph.nodes[peak].region)) moments.erase(moments.begin());
    for (auto moment = moments.rbegin(); moment != moments.rend(); ++moment) add_region(*moment);
    find_operands();
    find_forward_part();
  }

  [[nodiscard]] const SavedValuesProblem& problem() const { return problem_; }
  [[nodiscard]] SavedValue saved_value(std::size_t i, How how) const {
    const NodeId node = entries_[i].node;
    const Value& value = problem_.values[i];
    SavedValue saved{graph_.display_name(node), graph_.nodes[node].location, SavedValue::How::kept, value.bytes, 0};
    if (how == How::again) saved.how = SavedValue::How::again, saved.seconds = value.again_seconds;
    if (how == How::host) saved.how = SavedValue::How::host, saved.seconds = value.fetch_seconds;
    return saved;
  }
  [[nodiscard]] Repetition repetition(std::size_t i) const { return {entries_[i].node, entries_[i].moment}; }
  /// The bytes that the values of the problem take at the peak if nothing is computed again.
  [[nodiscard]] double wanted_bytes() const {
    double sum = 0;
    for (const Value& value : problem_.values) sum += value.wanted ? value.bytes : 0;
    return sum;
  }

  /// The problem in which the part in front of the peak has segments: the last is kept, and of the others what a later one reads.
  [[nodiscard]] SavedValuesProblem in_segments(std::size_t segments) const {
    SavedValuesProblem problem = problem_;
    if (segments == 0) return problem;
    double all = 0, sum = 0;
    for (const std::size_t i : own_) all += problem_.values[i].wanted ? problem_.values[i].bytes : 0;
    if (all <= 0) return problem;
    std::vector<std::size_t> ends;  // positions in `own_` behind which a segment ends
    std::size_t best = own_.size();
    std::size_t segment = 1;
    const double each = all / static_cast<double>(segments);
    for (std::size_t k = 0; k < own_.size() && segment < segments; ++k) {
      sum += problem_.values[own_[k]].wanted ? problem_.values[own_[k]].bytes : 0;
      const double place = sum / each - static_cast<double>(segment);  // 0: just here
      if (place > -0.25 && (best == own_.size() || crossing_[k] < crossing_[best])) best = k;
      if (place < 0.25) continue;
      ends.push_back(best);
      best = own_.size();
      while (sum / each - static_cast<double>(segment) >= 0.25) ++segment;
    }
    for (std::size_t k = 0; k < own_.size(); ++k) {
      const auto end = std::lower_bound(ends.begin(), ends.end(), k);
      if (end == ends.end() || last_read_[k] > position(own_[*end])) problem.values[own_[k]].again_seconds = SavedValuesProblem::kNever;
    }
    return problem;
  }

 private:
  struct Entry {
    NodeId node;
    NodeId moment;  ///< of its region
  };

  [[nodiscard]] bool is_condition(RegionId region) const { return graph_.regions[region].kind == RegionKind::while_condition; }
  [[nodiscard]] std::int32_t position(NodeId node) const { return costed_.uses->position(node); }
  [[nodiscard]] std::int32_t position(std::size_t entry) const { return position(entries_[entry].node); }
  [[nodiscard]] bool on_accelerator(NodeId node) const { return placement_.has_copy(node.index, kAccelerator); }

  void add_region(NodeId moment) {
    const RegionId region = graph_.nodes[moment].region;
    IdVector<ValueId, bool> leaves(graph_.values.size(), false);  // read at the end of the region
    for (const Output& output : graph_.outputs) leaves[output.value] = true;
    if (graph_.regions[region].predicate.valid()) leaves[graph_.regions[region].predicate] = true;
    for (const NodeId id : graph_.regions[region].nodes) {
      if (id == moment) return;
      const Node& node = graph_.nodes[id];
      if (node.kind == NodeKind::input || node.kind == NodeKind::parameter || node.kind == NodeKind::constant || is_control(node.kind))
        continue;  // in memory for the whole run, or no value
      Value value;
      bool read = false, always = false;
      for (const NodeId reader : readers_[id]) {
        const NodeId at = reading_place(graph_, reader, region);
        const bool yielded = graph_.nodes[reader].kind == NodeKind::carried && graph_.nodes[reader].region == region;
        always = always || yielded;
        if (!at.valid() || yielded || !on_accelerator(reader)) continue;
        read = true;
        value.wanted = value.wanted || position(at) > position(moment);
      }
      for (const ValueId result : node.results) {
        always = always || leaves[result];
        value.bytes += std::ceil(static_cast<double>(graph_.values[result].type.bytes()) / kAlignment) * kAlignment;
      }
      if (always || !read) continue;  // it stays in any case
      const bool kept = node.recompute == Recompute::never;
      const bool pure = node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure;
      if (pure && !kept && on_accelerator(id))
        value.again_seconds = costed_.problem.nodes[id.index].accelerator_seconds * costed_.frequency[region];
      if (node.kind == NodeKind::operation) value.fetch_seconds = fetch_seconds(id);
      index_[id] = static_cast<std::int32_t>(entries_.size());
      entries_.push_back({id, moment});
      problem_.values.push_back(std::move(value));
    }
  }

  /// The way of an operation's results to the host, if they are not there anyway, and back.
  [[nodiscard]] double fetch_seconds(NodeId id) const {
    double seconds = 0;
    for (const ValueId result : graph_.nodes[id].results) {
      const PlacementProblem::Value& value = costed_.problem.values[result.index];
      if (!placement_.has_copy(id.index, kHost) && !is_sent_[result]) seconds += value.accelerator_to_host_seconds;
      seconds += value.host_to_accelerator_seconds;
    }
    return seconds * costed_.frequency[graph_.nodes[id].region];
  }

  /// Operands of enclosing regions are in memory while the region runs, since the operation itself reads them there.
  void find_operands() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Node& node = graph_.nodes[entries_[i].node];
      for (const ValueId input : node.inputs) {
        const NodeId producer = graph_.values[input].producer;
        if (index_[producer] >= 0 && graph_.values[input].region == node.region) problem_.values[i].operands.push_back(index_[producer]);
      }
    }
  }

  /// Finds the values of the region whose values take the most of the memory, and where what stands in front of the peak reads them.
  void find_forward_part() {
    IdVector<RegionId, double> bytes(graph_.regions.size(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (problem_.values[i].wanted) bytes[graph_.nodes[entries_[i].node].region] += problem_.values[i].bytes;
    const RegionId fullest(static_cast<std::size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin()));
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (graph_.nodes[entries_[i].node].region != fullest) continue;
      own_.push_back(i);
      last_read_.push_back(last_read(i));
    }
    crossing_.assign(own_.size() + 1, 0);
    for (std::size_t k = 0; k < own_.size(); ++k) {
      const auto past = std::lower_bound(own_.begin(), own_.end(), last_read_[k],
                                         [&](std::size_t entry, std::int32_t at) { return position(entry) < at; });
      const auto end = static_cast<std::size_t>(past - own_.begin());
      if (end <= k) continue;
      crossing_[k] += problem_.values[own_[k]].bytes;
      crossing_[end] -= problem_.values[own_[k]].bytes;
    }
    for (std::size_t k = 1; k < crossing_.size(); ++k) crossing_[k] += crossing_[k - 1];
  }
  /// The last position in front of the peak that reads an entry.
  [[nodiscard]] std::int32_t last_read(std::size_t entry) const {
    const auto& [node, moment] = entries_[entry];
    std::int32_t last = position(node);
    for (const NodeId reader : readers_[node]) {
      const NodeId at = reading_place(graph_, reader, graph_.nodes[node].region);
      if (at.valid() && position(at) <= position(moment)) last = std::max(last, position(at));
    }
    return last;
  }

  const Graph& graph_;
  const CostedProblem& costed_;
  const Placement& placement_;
  IdVector<ValueId, bool> is_sent_;  ///< to the host
  IdVector<NodeId, std::vector<NodeId>> readers_;
  IdVector<NodeId, std::int32_t> index_;  ///< in `entries_`; -1: none
  std::vector<Entry> entries_;            ///< in program order; values of the problem
  SavedValuesProblem problem_;
  std::vector<std::size_t> own_;         ///< the entries of the region that takes the most memory
  std::vector<std::int32_t> last_read_;  ///< by place in `own_`
  std::vector<double> crossing_;  ///< by place in `own_`: the bytes of values up to it that are read behind it, but in front of the peak
};

/// One choice of what becomes of values, and the problem that it solves.
struct Candidate {
  SavedValuesProblem problem;
  SavedValues chosen;
  bool operator<(const Candidate& other) const { return chosen.seconds > other.chosen.seconds; }  // for a queue with the cheapest on top
};

/// What may become of values that are not kept.
struct Ways {
  bool again = true, host = true;
};

/// The choices for one placement, each as a program.
class Choices {
 public:
  Choices(const Graph& graph, const CostModel& model, const CostedProblem& costed, const Placement& placement, const MemoryPeak& peak,
          const FindPeak& find_peak, double memory_bytes)
      : graph_(graph),
        model_(model),
        placement_(placement),
        peak_bytes_(peak.bytes),
        find_peak_(find_peak),
        memory_bytes_(memory_bytes),
        values_(graph, costed, placement, peak.at) {}

  /// The cheapest program found: with both ways, and with either alone where both are used.
  std::optional<SmallerProgram> run() {
    std::optional<SmallerProgram> best = search({});
    const auto uses = [&](SavedValue::How how) {
      return !best ||
             std::any_of(best->saved.values.begin(), best->saved.values.end(), [&](const auto& value) { return value.how == how; });
    };
    const bool again = uses(SavedValue::How::again), host = uses(SavedValue::How::host);
    if (!again || !host) return best;
    for (const Ways ways : {Ways{true, false}, Ways{false, true}}) {
      std::optional<SmallerProgram> other = search(ways);
      if (other && (!best || other->program.optimum.objective_seconds < best->program.optimum.objective_seconds)) best = std::move(other);
    }
    return best;
  }

 private:
  std::optional<SmallerProgram> search(Ways ways) {
    std::priority_queue<Candidate> candidates;
    std::set<std::vector<How>> tried;
    const auto offer = [&](SavedValuesProblem problem) {
      std::optional<SavedValues> chosen = choose_saved_values(problem);
      if (chosen && !bound_) bound_ = chosen->bound_seconds;  // that of the first: both ways, without segments, in all the memory
      if (chosen && chosen->seconds > 0 && tried.insert(chosen->how).second) candidates.push({std::move(problem), *std::move(chosen)});
    };
    for (const std::size_t segments : kSegments) {
      if (segments > 0 && !ways.again) break;
      SavedValuesProblem problem = values_.in_segments(segments);
      for (Value& value : problem.values) {
        if (!ways.again) value.again_seconds = SavedValuesProblem::kNever;
        if (!ways.host) value.fetch_seconds = SavedValuesProblem::kNever;
      }
      problem.memory_bytes = memory_bytes_ - std::max(0.0, peak_bytes_ - values_.wanted_bytes());
      offer(std::move(problem));
    }
    for (int tries = 0; tries < kMostTries && !candidates.empty(); ++tries) {
      Candidate candidate = candidates.top();
      candidates.pop();
      double over = 0;
      if (std::optional<SmallerProgram> smaller = apply(candidate.chosen, over)) return smaller;
      candidate.problem.memory_bytes = std::min(candidate.problem.memory_bytes, candidate.chosen.bytes) - over;
      if (candidate.problem.memory_bytes >= 0) offer(std::move(candidate.problem));
    }
    return std::nullopt;
  }

  /// The program of a choice; nothing if it does not fit, by `over` bytes.
  std::optional<SmallerProgram> apply(const SavedValues& chosen, double& over) const {
    std::vector<Repetition> repetitions, on_host;
    SavedMemory saved{{}, {}, chosen.seconds, bound_, peak_bytes_};
    for (std::size_t i = 0; i < chosen.how.size(); ++i) {
      if (chosen.how[i] == How::again) repetitions.push_back(values_.repetition(i));
      if (chosen.how[i] == How::host) on_host.push_back(values_.repetition(i));
      if (chosen.how[i] != How::dropped) saved.values.push_back(values_.saved_value(i, chosen.how[i]));
    }
    IdVector<NodeId, NodeId> origin;
    std::optional<ChangedProgram> changed =
        solve_changed(recompute(graph_, repetitions, on_host, &origin), model_, SavedValuesProblem::kNever);
    if (!changed) return std::nullopt;
    for (std::size_t i = 0; i < changed->graph->nodes.size(); ++i)
      if (changed->graph->nodes[NodeId(i)].pin.reason == kKeptOnHost) changed->costed.forced[i] = Cause::memory;
    const auto fits = [&](const Program& p) { return fits_memory(p, find_peak_, memory_bytes_); };
    const WorkedOutPlan plan = work_out({changed->graph, changed->costed, fits}, changed->optimum);
    over = find_peak_(plan.program, kAccelerator).bytes - memory_bytes_;
    if (over > 0) return std::nullopt;
    std::vector<std::uint8_t> sides[2] = {placement_.on_host, placement_.on_accelerator};
    for (std::size_t i = 0; i < origin.size(); ++i) {
      if (!origin[NodeId(i)].valid()) continue;
      sides[0][origin[NodeId(i)].index] = changed->optimum.on_host[i];
      sides[1][origin[NodeId(i)].index] = changed->optimum.on_accelerator[i];
    }
    return SmallerProgram{*std::move(changed), std::move(saved), std::move(sides[0]), std::move(sides[1])};
  }

  const Graph& graph_;
  const CostModel& model_;
  const Placement& placement_;
  const double peak_bytes_;
  const FindPeak& find_peak_;
  const double memory_bytes_;
  const CrossingValues values_;
  std::optional<double> bound_;
};

}  // namespace

std::optional<SmallerProgram> save_memory(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                          const WorkedOutPlan& unlimited, const FindPeak& find_peak, double memory_bytes) {
  if (!find_peak) return std::nullopt;
  MemoryPeak peak = find_peak(unlimited.program, kAccelerator);
  Placement placement = unlimited.placement;
  std::optional<SmallerProgram> best;
  // The choice for given sides, and the sides for a given choice, in turn, as long as the cost falls.
  for (int turn = 0; turn < kMostTurns && peak.at.valid() && peak.bytes > memory_bytes; ++turn) {
    std::optional<SmallerProgram> found = Choices(graph, model, costed, placement, peak, find_peak, memory_bytes).run();
    if (!found || (best && found->program.optimum.objective_seconds >= best->program.optimum.objective_seconds)) break;
    found->saved.peak_bytes = best ? best->saved.peak_bytes : peak.bytes;
    best = std::move(found);
    if (best->on_host == placement.on_host && best->on_accelerator == placement.on_accelerator) break;
    placement = evaluate(costed.problem, best->on_host, best->on_accelerator);
    const auto shared = std::shared_ptr<const Graph>(std::shared_ptr<void>(), &graph);  // outlives the plan
    const auto fits = [&](const Program& p) { return fits_memory(p, find_peak, memory_bytes); };
    peak = find_peak(work_out({shared, costed, fits}, placement).program, kAccelerator);
  }
  return best;
}

}  // namespace cleave::planner
