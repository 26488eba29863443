#include "partitioner/advice/worker_cures.h"

#include <algorithm>
#include <vector>

#include "graph/host_function.h"
#include "graph/passes/gather_calls.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostNodesForWorkers = 20'000;  ///< largest program to plan again for each number of workers

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

std::vector<Cure> worker_cures(const Plan& plan, int workers, const SecondsWithWorkers& seconds_with) {
  std::vector<Cure> helpful;
  const WorkerCalls calls = calls_by_workers(*plan.graph);
  int hiding = 0;  // workers that would make the data of all loops in time
  for (const ProducedData& data : plan.data) hiding = std::max(hiding, data.hidden_by.value_or(0));
  if ((calls.all < 2 && hiding == 0) || plan.graph->nodes.size() > kMostNodesForWorkers) return helpful;
  double best = plan.predicted_seconds;
  int tried = workers;
  std::vector<int> numbers = {calls.all < 2 ? 0 : 2, calls.together, hiding};
  std::sort(numbers.begin(), numbers.end());
  for (const int more : numbers) {
    if (more <= tried) continue;
    tried = more;
    const std::optional<double> seconds = seconds_with(more);
    if (!seconds || *seconds >= kCureHelps * best) continue;
    best = *seconds;
    helpful.push_back({Cure::Kind::workers, static_cast<double>(more), best});
  }
  return helpful;
}

std::vector<Cure> with_worker_cures(std::vector<Cure> cures, const std::vector<Cure>& by_workers) {
  if (by_workers.empty()) return cures;
  std::erase_if(cures, [](const Cure& cure) { return cure.kind == Cure::Kind::threads; });
  cures.insert(cures.begin(), by_workers.begin(), by_workers.end());
  return cures;
}

}  // namespace cleave::planner
