#include "partitioner/worker_cures.h"

#include <algorithm>
#include <vector>

#include "graph/host_function.h"
#include "graph/passes/gather_calls.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostNodes = 20'000;  ///< largest program to plan again for each number of workers

/// Counts of the calls that workers may make.
struct WorkerCalls {
  int all = 0;
  int together = 0;  ///< the most that can run at once, which are calls of one region
};

WorkerCalls calls_by_workers(const Graph& graph) {
  const auto by_worker = [&](NodeId id) {
    const HostFunction* function = graph.nodes[id].host_function();
    return function && function->beside(2) == HostFunction::Beside::on_worker;
  };
  WorkerCalls calls;
  for (const Region& region : graph.regions) {
    const auto here = static_cast<int>(std::count_if(region.nodes.begin(), region.nodes.end(), by_worker));
    calls.all += here;
    calls.together = std::max(calls.together, std::min(here, kCallsTogether));
  }
  return calls;
}

}  // namespace

void try_workers(const Graph& graph, const PlanOptions& options, Plan& plan) {
  const WorkerCalls calls = calls_by_workers(*plan.graph);
  if (calls.all < 2 || plan.graph->nodes.size() > kMostNodes) return;
  PlanOptions with = options;
  with.passes.after = nullptr;
  with.accounts = false;
  std::vector<Cure> helpful;
  double best = plan.predicted_seconds;
  for (const int workers : {2, calls.together}) {
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
