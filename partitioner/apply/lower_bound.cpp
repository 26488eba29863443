#include "partitioner/apply/lower_bound.h"

#include <cmath>

#include "graph/passes/dataflow.h"
#include "partitioner/machine/placed_fusion.h"

namespace cleave::planner {

double find_bound(const Graph& graph, CostModel model, const CostedProblem& costed, const Sinkable& sinkable, const Placement& placement) {
  const bool restricted = model.policy == Policy::host || model.policy == Policy::accelerator;
  const bool fuses = model.host_fuses || model.accelerator_fuses;
  if (!restricted && !fuses) return placement.bound_seconds;
  CostedProblem free;
  if (restricted) {
    model.policy = Policy::optimal;
    Diagnostics ignored;
    free = under_policy(graph, model, costed, ignored);
    if (ignored.has_errors()) return placement.bound_seconds;
  }
  const CostedProblem& problem = restricted ? free : costed;
  const Result<Placement> least =
      fuses ? solve(with_optimistic_fusion(graph, Dataflow(graph), sinkable, model, problem)) : solve(problem.problem);
  return least ? least->bound_seconds : placement.bound_seconds;
}

Placement with_bound(Placement placement, double seconds) {
  constexpr double kRounding = 1e-9;
  const double over = placement.objective_seconds - seconds, rounding = kRounding * placement.objective_seconds;
  placement.bound_seconds = std::abs(over) <= rounding ? placement.objective_seconds : seconds;
  placement.gap = over > rounding ? over / placement.objective_seconds : 0;
  return placement;
}

}  // namespace cleave::planner
