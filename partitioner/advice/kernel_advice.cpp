#include "partitioner/advice/kernel_advice.h"

#include <algorithm>
#include <map>

#include "graph/written.h"
#include "partitioner/advice/trials.h"

namespace cleave::planner {
namespace {

/// The nodes on the host for lack of a kernel only, grouped by the missing kernel; the costliest kernel first.
std::vector<KernelAdvice> missing_kernels(const Plan& plan) {
  const Graph& graph = *plan.graph;
  std::map<std::string, KernelAdvice> by_name;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId node(i);
    if (graph.nodes[node].kind != NodeKind::operation || plan.costed.forced[i] != Cause::no_kernel) continue;
    KernelAdvice& advice = by_name[culprit_name(graph, node)];
    advice.name = culprit_name(graph, node);
    advice.nodes.push_back(node);
    advice.host_seconds += plan.costed.frequency[graph.nodes[node].region] * plan.costed.problem.nodes[i].host_seconds;
  }
  std::vector<KernelAdvice> missing;
  for (auto& [name, advice] : by_name) missing.push_back(std::move(advice));
  std::stable_sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) { return a.host_seconds > b.host_seconds; });
  return missing;
}

}  // namespace

std::vector<KernelAdvice> advise_kernels(const Plan& plan, const CostModel& costs) {
  std::vector<KernelAdvice> advice = missing_kernels(plan);
  const double memory = plan.machine.accelerators.empty() ? 0 : plan.machine.accelerators[0].memory_bytes;
  const auto fits = [&](const Program& program) { return fits_memory(program, plan.find_peak, memory); };
  const auto deepen = [&](WorkedOutPlan& one, const CostedProblem& costed) {
    give_depths(one, costed, plan.find_peak, plan.machine.host.memory_bytes, plan.depths.given);
  };
  const PlannedGraph planned{plan.graph, plan.costed, fits, deepen};
  Trials trials(planned, costs, plan.predicted_seconds);
  for (KernelAdvice& each : advice) each.saved_seconds = trials.saved_by_freeing(each.nodes);
  std::stable_sort(advice.begin(), advice.end(), [](const auto& a, const auto& b) { return a.saved_seconds > b.saved_seconds; });
  return advice;
}

}  // namespace cleave::planner
