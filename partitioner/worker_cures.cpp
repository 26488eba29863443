#include "partitioner/worker_cures.h"

#include <algorithm>
#include <vector>

#include "graph/host_function.h"
#include "graph/passes/gather_calls.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostNodes = 20'000;  ///< of a program that is planned once more for each number

/// How many calls of one region workers may make.
int most_together(const Graph& graph) {
  const auto by_worker = [&](NodeId id) {
    const HostFunction* function = graph.nodes[id].host_function();
    return function && function->beside(2) == HostFunction::Beside::on_worker;
  };
  int most = 0;
  for (const Region& region : graph.regions)
    most = std::max(most, static_cast<int>(std::count_if(region.nodes.begin(), region.nodes.end(), by_worker)));
  return std::min(most, kCallsTogether);
}

}  // namespace

void try_workers(const Graph& graph, const PlanOptions& options, Plan& plan) {
  const int most = most_together(*plan.graph);
  if (most == 0 || plan.graph->nodes.size() > kMostNodes) return;
  PlanOptions with = options;
  with.passes.after = nullptr;
  with.accounts = false;
  std::vector<Cure> helpful;
  double best = plan.predicted_seconds;
  for (const int workers : {2, most}) {
    if (workers <= std::max(options.workers, with.workers)) continue;
    with.workers = workers;
    const Plan other = planner::plan(graph, with);
    if (!other.complete() || other.predicted_seconds >= kCureHelps * best) continue;
    best = other.predicted_seconds;
    helpful.push_back({Cure::Kind::workers, static_cast<double>(workers), best});
  }
  if (helpful.empty()) return;
  std::vector<Cure>& cures = plan.account.cures;
  std::erase_if(cures, [](const Cure& cure) { return cure.kind == Cure::Kind::threads; });
  cures.insert(cures.begin(), helpful.begin(), helpful.end());
}

}  // namespace cleave::planner
