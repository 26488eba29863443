#include "partitioner/apply/sunk_program.h"

#include <utility>
#include <vector>

#include "graph/passes/sink.h"
#include "partitioner/apply/rounds.h"

namespace cleave::planner {

std::optional<SunkProgram> sink_into_loops(const Graph& graph, const CostModel& model, const CostedProblem& costed,
                                           const Sinkable& sinkable, const Placement& optimum) {
  constexpr double kWorthwhile = 1e-9;
  const std::vector<Sinking> sinkings = worth_sinking(graph, sinkable, model, costed, optimum);
  if (sinkings.empty()) return std::nullopt;
  auto sunk = std::make_shared<const Graph>(sink(graph, sinkings));
  Diagnostics ignored;  // the pins' diagnostics were reported before
  const CostedProblem ungrouped = make_problem(*sunk, model, ignored);
  CostedProblem grouped = ungrouped;
  Result<Placement> placement = solve_in_rounds(*sunk, model, grouped);
  if (!placement || placement->objective_seconds >= optimum.objective_seconds * (1 - kWorthwhile)) return std::nullopt;
  Baselines baselines = solve_baselines(*sunk, model, ungrouped);
  return SunkProgram{std::move(sunk), std::move(grouped), *std::move(placement), std::move(baselines)};
}

}  // namespace cleave::planner
