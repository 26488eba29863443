#include "partitioner/apply/changed_program.h"

#include <utility>

#include "partitioner/apply/rounds.h"

namespace cleave::planner {

std::optional<ChangedProgram> solve_changed(Graph graph, const CostModel& model, double below) {
  auto changed = std::make_shared<const Graph>(std::move(graph));
  Diagnostics ignored;  // the pins' diagnostics were reported before
  const CostedProblem ungrouped = make_problem(*changed, model, ignored);
  CostedProblem grouped = ungrouped;
  Result<Placement> placement = solve_in_rounds(*changed, model, grouped);
  if (!placement || placement->objective_seconds >= below) return std::nullopt;
  Baselines baselines = solve_baselines(*changed, model, ungrouped);
  return ChangedProgram{std::move(changed), std::move(grouped), *std::move(placement), std::move(baselines)};
}

}  // namespace cleave::planner
