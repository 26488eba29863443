#include "partitioner/apply/sunk_program.h"

#include <vector>

#include "graph/passes/sink.h"

namespace cleave::planner {

std::optional<ChangedProgram> sink_into_loops(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                              const Sinkable& sinkable, const Placement& optimum) {
  constexpr double kWorthwhile = 1e-9;
  constexpr double kWorthTrying = 1e-3;  // a trial takes as long as all other planning
  const std::vector<Sinking> sinkings = worth_sinking(graph, sinkable, model, costed, optimum, kWorthTrying * optimum.objective_seconds);
  if (sinkings.empty()) return std::nullopt;
  return solve_changed(sink(graph, sinkings), model, optimum.objective_seconds * (1 - kWorthwhile));
}

}  // namespace cleave::planner
