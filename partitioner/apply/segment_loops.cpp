#include "partitioner/apply/segment_loops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "graph/gradient/loop_segments.h"

namespace cleave::planner {
namespace {

constexpr double kAlignment = 256;  ///< an upper bound on the alignment of values
constexpr int kMostTries = 8;       ///< programs for one number of loops

/// The numbers of one loop.
struct DividedLoop {
  StackedLoop loop;
  std::size_t index = 0;   ///< among the loops that can be divided, in program order
  double state_bytes = 0;  ///< of the carried values that are kept for each segment
  double row_bytes = 0;    ///< of what is saved of a trip
  double seconds = 0;      ///< of computing all trips again, in a run
  std::int64_t every = 0;  ///< as chosen

  [[nodiscard]] double stacked_bytes() const { return static_cast<double>(loop.trips) * row_bytes; }
  /// The states at the begin of each segment, with a row that is never read, and the rows of one segment.
  [[nodiscard]] double bytes(std::int64_t trips) const {
    const double segments = std::ceil(static_cast<double>(loop.trips) / static_cast<double>(trips));
    return (segments + 1) * state_bytes + static_cast<double>(trips) * row_bytes;
  }
  /// The number of trips that takes the least memory: about the square root of all trips.
  [[nodiscard]] std::int64_t smallest() const {
    const double root = std::sqrt(static_cast<double>(loop.trips) * state_bytes / std::max(row_bytes, 1.0));
    const auto near = std::clamp(static_cast<std::int64_t>(root), std::int64_t{1}, loop.trips);
    return near < loop.trips && bytes(near + 1) < bytes(near) ? near + 1 : near;
  }
  /// The longest segments that fit, since each segment costs the begin of two loops; the smallest if none fit. With `even`, all segments
  /// have equal length; nothing if there is none between these two.
  [[nodiscard]] std::optional<std::int64_t> longest_within(double room, bool even) const {
    const std::int64_t least = smallest();
    std::int64_t fits = least, over = loop.trips;
    while (over - fits > 1 && bytes(least) <= room) {
      const std::int64_t middle = fits + (over - fits) / 2;
      (bytes(middle) <= room ? fits : over) = middle;
    }
    if (!even) return fits;
    for (; fits >= least; --fits)
      if (loop.trips % fits == 0) return fits;
    return std::nullopt;
  }
};

double aligned(const Graph& graph, ValueId value) {
  return std::ceil(static_cast<double>(graph.values[value].type.bytes()) / kAlignment) * kAlignment;
}

/// The loops whose stacks are on the accelerator, those that take the most memory first.
std::vector<DividedLoop> find_loops(const Graph& graph, const CostedProblem& costed, const Placement& placement) {
  std::vector<DividedLoop> found;
  std::vector<StackedLoop> loops = find_stacked_loops(graph);
  for (std::size_t i = 0; i < loops.size(); ++i) {
    StackedLoop& loop = loops[i];
    const auto there = [&](NodeId node) { return placement.has_copy(node.index, kAccelerator); };
    if (!std::all_of(loop.stacks.begin(), loop.stacks.end(), there)) continue;
    DividedLoop divided;
    divided.index = i;
    for (const NodeId stack : loop.stacks)
      divided.row_bytes += static_cast<double>(graph.values[graph.nodes[stack].results[0]].type.bytes()) / static_cast<double>(loop.trips);
    for (const NodeId state : loop.states) divided.state_bytes += aligned(graph, graph.nodes[state].results[0]);
    for (const NodeId node : loop.again) {
      const PlacementProblem::Node& costs = costed.problem.nodes[node.index];
      divided.seconds += costed.frequency[graph.nodes[node].region] * (there(node) ? costs.accelerator_seconds : costs.host_seconds);
    }
    divided.loop = std::move(loop);
    if (divided.bytes(divided.smallest()) < divided.stacked_bytes()) found.push_back(std::move(divided));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const DividedLoop& a, const DividedLoop& b) { return a.stacked_bytes() > b.stacked_bytes(); });
  return found;
}

class LoopDivision {
 public:
  LoopDivision(const Graph& graph, const CostModel& model, const CostedProblem& costed, const WorkedOutPlan& unlimited,
               const FindPeak& find_peak, double memory_bytes)
      : graph_(graph),
        model_(model),
        find_peak_(find_peak),
        memory_bytes_(memory_bytes),
        peak_bytes_(find_peak(unlimited.program, kAccelerator).bytes),
        loops_(find_loops(graph, costed, unlimited.placement)) {}

  /// Divides one loop more at a time, until the program fits. Segments of equal length need no computed numbers of trips, and longer ones
  /// are fewer: the cheaper counts.
  std::optional<SmallerProgram> run() {
    std::optional<SmallerProgram> best;
    for (std::size_t count = 1; count <= loops_.size() && !best; ++count)
      for (const bool even : {true, false}) {
        std::optional<SmallerProgram> smaller = divide_first(count, even);
        if (smaller && (!best || smaller->program.optimum.objective_seconds < best->program.optimum.objective_seconds))
          best = std::move(smaller);
      }
    return best;
  }

 private:
  std::optional<SmallerProgram> divide_first(std::size_t count, bool even) {
    double stacked = 0;
    for (std::size_t i = 0; i < count; ++i) stacked += loops_[i].stacked_bytes();
    double room = memory_bytes_ - std::max(0.0, peak_bytes_ - stacked);
    for (int tries = 0; tries < kMostTries; ++tries) {
      bool smallest = true;
      for (std::size_t i = 0; i < count; ++i) {
        DividedLoop& loop = loops_[i];
        const std::optional<std::int64_t> every = loop.longest_within(room * loop.stacked_bytes() / stacked, even);
        if (!every) return std::nullopt;
        smallest = smallest && *every == loop.smallest();
        loop.every = *every;
      }
      std::optional<ChangedProgram> changed = solve_changed(divided(count), model_, std::numeric_limits<double>::infinity());
      if (!changed) return std::nullopt;
      const auto fits = [&](const Program& p) { return fits_memory(p, find_peak_, memory_bytes_); };
      const WorkedOutPlan plan = work_out({changed->graph, changed->costed, fits}, changed->optimum);
      const double over = find_peak_(plan.program, kAccelerator).bytes - memory_bytes_;
      if (over <= 0) return SmallerProgram{*std::move(changed), saved(count), {}, {}};
      if (smallest) return with_values(*changed, plan, count);
      room = std::min(room, taken(count)) - over;
    }
    return std::nullopt;
  }
  /// Computes single values again, too.
  std::optional<SmallerProgram> with_values(const ChangedProgram& changed, const WorkedOutPlan& plan, std::size_t count) const {
    std::optional<SmallerProgram> smaller = save_memory(*changed.graph, model_, changed.costed, plan, find_peak_, memory_bytes_);
    if (!smaller) return std::nullopt;
    SavedMemory all = saved(count);
    all.values = std::move(smaller->saved.values);
    all.seconds += smaller->saved.seconds;
    smaller->saved = std::move(all);
    return smaller;
  }

  /// The program with the first loops divided. Each division numbers nodes anew, but changes nothing in front of its loop; so the last loop
  /// is divided first, and the others are found again.
  [[nodiscard]] Graph divided(std::size_t count) const {
    std::vector<std::pair<std::size_t, std::int64_t>> chosen;
    for (std::size_t i = 0; i < count; ++i) chosen.emplace_back(loops_[i].index, loops_[i].every);
    std::sort(chosen.begin(), chosen.end(), std::greater<>());
    Graph graph = graph_;
    for (const auto& [index, every] : chosen) {
      const StackedLoop loop = find_stacked_loops(graph).at(index);
      graph = divide_loop(std::move(graph), loop, every);
    }
    return graph;
  }
  [[nodiscard]] double taken(std::size_t count) const {
    double bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += loops_[i].bytes(loops_[i].every);
    return bytes;
  }
  [[nodiscard]] SavedMemory saved(std::size_t count) const {
    SavedMemory saved{{}, {}, 0, std::nullopt, peak_bytes_};
    for (std::size_t i = 0; i < count; ++i) {
      const DividedLoop& loop = loops_[i];
      saved.loops.push_back({graph_.display_name(loop.loop.states.empty() ? loop.loop.forward : loop.loop.states.front()),
                             graph_.nodes[loop.loop.forward].location, loop.loop.trips, loop.every, loop.stacked_bytes(),
                             loop.bytes(loop.every), loop.seconds});
      saved.seconds += loop.seconds;
    }
    return saved;
  }

  const Graph& graph_;
  const CostModel& model_;
  const FindPeak& find_peak_;
  const double memory_bytes_, peak_bytes_;
  std::vector<DividedLoop> loops_;
};

}  // namespace

std::optional<SmallerProgram> segment_loops(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                            const WorkedOutPlan& unlimited, const FindPeak& find_peak, double memory_bytes) {
  if (!find_peak) return std::nullopt;
  return LoopDivision(graph, model, costed, unlimited, find_peak, memory_bytes).run();
}

}  // namespace cleave::planner
