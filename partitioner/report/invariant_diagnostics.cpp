// The wording of host work that a loop repeats although nothing changes, and of what moving it would save: tried, or it is not said.
#include "graph/base/units.h"
#include "partitioner/apply/invariant_work.h"
#include "partitioner/report/transfer_diagnostics.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
void diagnose_invariant_work(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::invariant_host_work);
  if (!severity) return;
  const Graph& graph = *plan.graph;
  for (const InvariantWork& work : find_invariant_work(graph, plan.costed, plan.placement)) {
    const std::optional<double> saved = trials.saved_by_hoisting(work.nodes, work.loop);
    if (!saved || *saved < kWorthSaying * plan.predicted_seconds) continue;
    const Node& blamed = graph.nodes[work.blamed];
    Diagnostic d{DiagnosticKind::invariant_host_work, *severity, "", blamed.location, 0, {}};
    d.message = "`" + culprit_phrase(graph, work.blamed) + "` runs on the host in every iteration, and computes the same each time";
    d.notes.push_back({"nothing that it reads changes in this loop; move it in front", graph.nodes[work.loop].location, 0});
    d.notes.push_back({often_phrase(graph, blamed.region, plan.costed.frequency[blamed.region]) + ", " + format_seconds(work.seconds) +
                           " on the host; once would save about " + format_seconds(*saved) + " of " +
                           format_seconds(plan.predicted_seconds) + " predicted (" + machine_phrase(plan.machine) + ")",
                       {},
                       0});
    allow_as_marked(d, graph, work.nodes);
    diagnostics.add(std::move(d));
  }
}

}  // namespace cleave::planner
