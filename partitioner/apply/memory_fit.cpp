#include "partitioner/apply/memory_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/base/units.h"

namespace cleave::planner {
namespace {

constexpr int kMoments = 16;        ///< rounds with a capacity for the values held at the peak
constexpr int kShrinks = 16;        ///< rounds with a smaller capacity for all copies
constexpr int kGrows = 3;           ///< rounds between a capacity that fits and one that does not
constexpr double kFilled = 0.98;    ///< fraction of the memory; a plan that uses this much ends the search
constexpr double kAlignment = 256;  ///< an upper bound on the alignment of values

double kept_on_accelerator(const PlacementProblem& problem) {
  double bytes = 0;
  for (const auto& node : problem.nodes) {
    if (node.pin == PlacementProblem::Pin::accelerator || node.keep_accelerator_copy) bytes += node.accelerator_bytes;
  }
  return bytes;
}

double on_accelerator(const PlacementProblem& problem, const Placement& placement) {
  double bytes = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) bytes += placement.on_accelerator[i] ? problem.nodes[i].accelerator_bytes : 0;
  return bytes;
}

Error does_not_fit(const Graph& graph, const MemoryPeak& peak, double memory_bytes) {
  Error error;
  error.message = "no plan was found that fits into the " + format_bytes(memory_bytes) + " of " + to_string(kAccelerator) +
                  "; one that was tried takes " + format_bytes(peak.bytes);
  const char* joint = ", and at its peak holds ";
  for (const ValueId value : peak.largest) {
    const NodeId producer = graph.values[value].producer;
    if (!error.location.known()) error.location = graph.nodes[producer].location;
    const TensorType& type = graph.values[value].type;
    const auto bytes = static_cast<double>(type.bytes());
    const std::string name = "`" + graph.display_name(producer) + "`";
    if (bytes > memory_bytes) {
      error.message += "; " + name + " (" + to_string(type) + ") alone takes " + format_bytes(bytes);
      break;
    }
    error.message += joint + name + " (" + to_string(type) + ", " + format_bytes(bytes) + ")";
    joint = ", ";
  }
  return error;
}

/// Calls `visit(value, bytes)` for each value that takes memory of the device at some time.
template <class Visit>
void each_value_on(const Program& program, DeviceId device, Visit visit) {
  const Graph& graph = *program.graph;
  const auto see = [&](ValueId value) {
    visit(value, std::ceil(static_cast<double>(graph.values[value].type.bytes()) / kAlignment) * kAlignment);
  };
  const auto see_results = [&](NodeId node) {
    for (const ValueId value : graph.nodes[node].results) see(value);
  };
  for (const Block& block : program.devices[device].blocks) {
    for (const Step& step : block.steps) {
      if (step.kind == StepKind::receive) see(step.value);
      if (step.kind == StepKind::compute) see_results(step.node);
      for (const std::vector<NodeId>* nodes : {&step.carried, &step.merges})
        for (const NodeId node : *nodes) see_results(node);
    }
  }
}

/// The memory that all values take together.
double bytes_without_sharing(const Program& program, DeviceId device) {
  double sum = 0;
  each_value_on(program, device, [&](ValueId, double bytes) { sum += bytes; });
  return sum;
}

}  // namespace

MemoryPeak peak_without_sharing(const Program& program, DeviceId device) {
  const Graph& graph = *program.graph;
  MemoryPeak peak;
  each_value_on(program, device, [&](ValueId value, double bytes) {
    peak.bytes += bytes;
    peak.largest.push_back(value);
    peak.held.push_back({{value}, bytes});
  });
  const std::size_t named = std::min<std::size_t>(peak.largest.size(), 8);
  std::partial_sort(peak.largest.begin(), peak.largest.begin() + static_cast<std::ptrdiff_t>(named), peak.largest.end(),
                    [&](ValueId a, ValueId b) {
                      const auto x = graph.values[a].type.bytes(), y = graph.values[b].type.bytes();
                      return x != y ? x > y : a.index < b.index;
                    });
  peak.largest.resize(named);
  return peak;
}

bool fits_memory(const Program& program, const FindPeak& find_peak, double memory_bytes) {
  return memory_bytes <= 0 || bytes_without_sharing(program, kAccelerator) <= memory_bytes ||
         (find_peak && find_peak(program, kAccelerator).bytes <= memory_bytes);
}

namespace {

/// Searches for the cheapest plan that fits into memory, by the two methods that memory_fit.h describes.
class Fitting {
 public:
  Fitting(const std::shared_ptr<const Graph>& graph, const CostedProblem& costed, const WorkedOutPlan& unlimited, const FindPeak& find_peak,
          double memory_bytes)
      : costed_(costed),
        unlimited_(unlimited),
        find_peak_(find_peak),
        memory_bytes_(memory_bytes),
        planned_{graph, costed, [&find_peak, memory_bytes](const Program& p) { return fits_memory(p, find_peak, memory_bytes); }},
        shortage_{peak_of(unlimited.program), memory_bytes, unlimited.schedule.seconds} {}

  Result<FittedPlan> run() {
    fit_moments();
    if (Status tried = fit_sum(); !tried && !best_) return tried.error();
    if (!best_) return does_not_fit(*planned_.graph, last_overflow_, memory_bytes_);
    for (std::size_t i = 0; i < planned_.graph->nodes.size(); ++i) {
      const bool moved = unlimited_.placement.has_copy(i, kAccelerator) && !best_->plan.placement.has_copy(i, kAccelerator);
      if (moved && costed_.forced[i] == Cause::none) best_->kept_off.emplace_back(i);
    }
    return std::move(*best_);
  }

 private:
  [[nodiscard]] MemoryPeak peak_of(const Program& program) const {
    return find_peak_ ? find_peak_(program, kAccelerator) : peak_without_sharing(program, kAccelerator);
  }
  static Result<Placement> solve_within(const PlacementProblem& problem) {
    return solve(problem, {.tolerance = 1e-3, .max_branches = 200, .max_work = 2e7});
  }
  void offer(WorkedOutPlan candidate, double capacity_bytes) {
    if (best_ && candidate.placement.objective_seconds >= best_->plan.placement.objective_seconds) return;
    best_ = FittedPlan{std::move(candidate), capacity_bytes, {}, shortage_};
  }

  /// Limits the values held where the program's memory is fullest to the memory, one peak after another. Values that leave the accelerator
  /// for one peak stay away in later rounds.
  void fit_moments() {
    PlacementProblem problem = costed_.problem;
    MemoryPeak peak = shortage_.peak;
    Placement before = unlimited_.placement;
    IdVector<ValueId, char> seen(planned_.graph->values.size(), 0);  // held at an earlier peak
    for (int moment = 0; moment < kMoments; ++moment) {
      problem.accelerator_memory_bytes = memory_bytes_ - weigh(peak, before, seen, problem);
      if (problem.accelerator_memory_bytes < std::max(kept_on_accelerator(problem), 1.0)) return;
      Result<Placement> placement = solve_within(problem);
      if (!placement) return;
      WorkedOutPlan candidate = work_out(planned_, *placement);
      MemoryPeak found = peak_of(candidate.program);
      if (found.bytes <= memory_bytes_) {
        const double copies = on_accelerator(costed_.problem, candidate.placement);
        return offer(std::move(candidate), copies);
      }
      keep_away(peak, before, *placement, problem);
      peak = std::move(found);
      before = *std::move(placement);
    }
  }
  /// The nodes that keep a value on the accelerator under a placement: its producer if it is there, otherwise the readers it is sent to.
  [[nodiscard]] std::vector<std::size_t> holders(ValueId value, const Placement& placement) const {
    const NodeId maker = planned_.graph->values[value].producer;
    if (placement.has_copy(maker.index, kAccelerator)) return {maker.index};
    std::vector<std::size_t> readers;
    for (const ValueUse& use : costed_.uses->of(value))
      if (!use.host_only() && placement.has_copy(use.node.index, kAccelerator)) readers.push_back(use.node.index);
    return readers;
  }
  /// Gives the holders of each value at the peak the size of its storage as weight, and all other nodes none. Returns the bytes of the peak
  /// that no node has as weight.
  double weigh(const MemoryPeak& peak, const Placement& placement, IdVector<ValueId, char>& seen, PlacementProblem& problem) const {
    for (PlacementProblem::Node& node : problem.nodes) node.accelerator_bytes = 0;
    double rest = peak.bytes;
    for (const MemoryPeak::Storage& storage : peak.held) {
      rest -= storage.bytes;
      // Storage becomes free only if all values in it leave. If that did not happen before, each of them gets the full weight.
      const bool again = std::any_of(storage.values.begin(), storage.values.end(), [&](ValueId value) { return seen[value] != 0; });
      const double shares = again || storage.bytes > memory_bytes_ ? 1 : static_cast<double>(storage.values.size());
      for (const ValueId value : storage.values) {
        seen[value] = 1;
        for (const std::size_t holder : holders(value, placement)) problem.nodes[holder].accelerator_bytes += storage.bytes / shares;
      }
    }
    return std::max(0.0, rest);
  }
  void keep_away(const MemoryPeak& peak, const Placement& before, const Placement& after, PlacementProblem& problem) const {
    for (const MemoryPeak::Storage& storage : peak.held) {
      for (const ValueId value : storage.values) {
        for (const std::size_t holder : holders(value, before)) {
          if (after.has_copy(holder, kAccelerator)) continue;
          problem.nodes[holder].pin = PlacementProblem::Pin::host;
          problem.nodes[holder].replicable = false;
        }
      }
    }
  }

  /// Limits the sum of all copies to smaller and smaller capacities.
  Status fit_sum() {
    const double least = std::max(kept_on_accelerator(costed_.problem), 1.0);  // 0 would be no limit
    PlacementProblem problem = costed_.problem;
    bool fits = false;
    double fitting = 0, too_much = on_accelerator(costed_.problem, unlimited_.placement);
    last_overflow_ = shortage_.peak;
    double step = 0.01;  // relative; small for a peak that almost fits, then grows while the peak does not follow the capacity
    for (int shrinks = 1, grows = 0; shrinks <= kShrinks && grows < kGrows;) {
      double capacity =
          fits ? (fitting + too_much) / 2 : std::max(least, too_much * std::min(1 - step, memory_bytes_ / last_overflow_.bytes));
      if (!fits && shrinks == kShrinks) capacity = least;
      ++(fits ? grows : shrinks);
      problem.accelerator_memory_bytes = capacity;
      Result<Placement> placement = solve_within(problem);
      if (!placement) return placement.error();
      WorkedOutPlan candidate = work_out(planned_, std::move(*placement));
      const MemoryPeak found = peak_of(candidate.program);
      if (found.bytes > memory_bytes_) {
        if (found.bytes > last_overflow_.bytes * (1 - step / 2)) step = std::min(0.5, 3 * step);
        too_much = capacity;
        last_overflow_ = found;
        if (capacity <= least) break;
        continue;
      }
      fits = true;
      fitting = capacity;
      offer(std::move(candidate), capacity);
      if (found.bytes >= kFilled * memory_bytes_) break;
    }
    return {};
  }

  const CostedProblem& costed_;
  const WorkedOutPlan& unlimited_;
  const FindPeak& find_peak_;
  const double memory_bytes_;
  const PlannedGraph planned_;
  const MemoryShortage shortage_;
  MemoryPeak last_overflow_;  ///< in fit_sum(): of the last program that did not fit
  std::optional<FittedPlan> best_;
};

}  // namespace

Result<FittedPlan> fit_memory(const std::shared_ptr<const Graph>& graph, const CostedProblem& costed, const WorkedOutPlan& unlimited,
                              const FindPeak& find_peak, double memory_bytes) {
  return Fitting(graph, costed, unlimited, find_peak, memory_bytes).run();
}

}  // namespace cleave::planner
