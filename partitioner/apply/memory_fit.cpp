#include "partitioner/apply/memory_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/base/units.h"

namespace cleave::planner {
namespace {

constexpr int kShrinks = 16;        ///< rounds with a smaller capacity
constexpr int kGrows = 3;           ///< rounds between one that fits and one that does not
constexpr double kFilled = 0.98;    ///< of the memory: no need to look for a placement that uses more
constexpr double kAlignment = 256;  ///< no uses aligns values to more

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
  error.message = "the program needs at least " + format_bytes(peak.bytes) + " on " + to_string(kAccelerator) + ", which has " +
                  format_bytes(memory_bytes);
  const char* joint = "; at its peak it holds ";
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

}  // namespace

MemoryPeak peak_without_sharing(const Program& program, DeviceId device) {
  const Graph& graph = *program.graph;
  MemoryPeak peak;
  auto add = [&](ValueId value) {
    peak.bytes += std::ceil(static_cast<double>(graph.values[value].type.bytes()) / kAlignment) * kAlignment;
    peak.largest.push_back(value);
  };
  for (const Block& block : program.devices[device].blocks) {
    for (const Step& step : block.steps) {
      if (step.kind == StepKind::receive) add(step.value);
      if (step.kind == StepKind::compute)
        for (const ValueId value : graph.nodes[step.node].results) add(value);
      for (const std::vector<NodeId>& nodes : {step.carried, step.merges}) {
        for (const NodeId node : nodes)
          for (const ValueId value : graph.nodes[node].results) add(value);
      }
    }
  }
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
  return memory_bytes <= 0 || peak_without_sharing(program, kAccelerator).bytes <= memory_bytes ||
         (find_peak && find_peak(program, kAccelerator).bytes <= memory_bytes);
}

Result<FittedPlan> fit_memory(const std::shared_ptr<const Graph>& graph, const CostedProblem& costed, const WorkedOutPlan& unlimited,
                              const FindPeak& find_peak, double memory_bytes) {
  const auto peak_of = [&](const Program& program) {
    return find_peak ? find_peak(program, kAccelerator) : peak_without_sharing(program, kAccelerator);
  };
  const PlannedGraph planned{graph, costed, [&](const Program& p) { return fits_memory(p, find_peak, memory_bytes); }};
  const double least = std::max(kept_on_accelerator(costed.problem), 1.0);  // 0 would be no limit
  PlacementProblem problem = costed.problem;
  std::optional<FittedPlan> best;
  double fitting = 0, too_much = on_accelerator(costed.problem, unlimited.placement);
  MemoryPeak peak = peak_of(unlimited.program);
  const MemoryShortage shortage{peak, memory_bytes, unlimited.schedule.seconds};
  double step = 0.01;  // a peak that is nearly small enough needs a small one, a peak that does not follow the capacity ever larger ones
  for (int shrinks = 1, grows = 0; shrinks <= kShrinks && grows < kGrows;) {
    double capacity = best ? (fitting + too_much) / 2 : std::max(least, too_much * std::min(1 - step, memory_bytes / peak.bytes));
    if (!best && shrinks == kShrinks) capacity = least;
    ++(best ? grows : shrinks);
    problem.accelerator_memory_bytes = capacity;
    Result<Placement> placement = solve(problem, {.tolerance = 1e-3, .max_branches = 200, .max_work = 2e7});
    if (!placement) return placement.error();
    WorkedOutPlan candidate = work_out(planned, std::move(*placement));
    const MemoryPeak found = peak_of(candidate.program);
    if (found.bytes > memory_bytes) {
      if (found.bytes > peak.bytes * (1 - step / 2)) step = std::min(0.5, 3 * step);
      too_much = capacity;
      peak = found;
      if (capacity <= least) break;
      continue;
    }
    fitting = capacity;
    if (!best || candidate.placement.objective_seconds < best->plan.placement.objective_seconds)
      best = FittedPlan{std::move(candidate), capacity, {}, shortage};
    if (found.bytes >= kFilled * memory_bytes) break;
  }
  if (!best) return does_not_fit(*graph, peak, memory_bytes);
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const bool moved = unlimited.placement.has_copy(i, kAccelerator) && !best->plan.placement.has_copy(i, kAccelerator);
    if (moved && costed.forced[i] == Cause::none) best->kept_off.emplace_back(i);
  }
  return std::move(*best);
}

}  // namespace cleave::planner
