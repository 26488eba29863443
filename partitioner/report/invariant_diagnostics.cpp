// Messages about loop-invariant host work and the time that hoisting it would save. Only savings that a trial found are reported.
#include <algorithm>
#include <set>

#include "graph/base/units.h"
#include "partitioner/apply/invariant_work.h"
#include "partitioner/report/diagnostic_parts.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

/// The advice to hoist this work. Empty if its source lines contain other operations, too.
std::optional<Advice> moving(const Graph& graph, const InvariantWork& work, double saved) {
  Advice advice{Advice::Action::move_out, {}, graph.nodes[work.loop].location, saved, 0};
  std::set<std::pair<std::string_view, int>> lines;
  for (const NodeId id : work.nodes) {
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::operation) continue;
    lines.emplace(node.location.file_name(), node.location.line);
    advice.places.push_back({node.location, "", {}});
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.kind != NodeKind::operation || !lines.contains({node.location.file_name(), node.location.line})) continue;
    if (std::find(work.nodes.begin(), work.nodes.end(), NodeId(i)) == work.nodes.end()) return std::nullopt;
  }
  return advice;
}

}  // namespace

void diagnose_invariant_work(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::invariant_host_work);
  if (!severity) return;
  const Graph& graph = *plan.graph;
  for (const auto& [work, saved] : tried.hoistings) {
    const Node& blamed = graph.nodes[work.blamed];
    Diagnostic d{DiagnosticKind::invariant_host_work, *severity, "", blamed.location, 0, {}};
    d.message = "`" + culprit_phrase(graph, work.blamed) + "` runs on the host in every iteration, and computes the same each time";
    d.notes.push_back({"nothing that it reads changes in this loop; move it in front", graph.nodes[work.loop].location, 0});
    d.notes.push_back({often_phrase(graph, blamed.region, plan.costed.frequency[blamed.region]) + ", " + format_seconds(work.seconds) +
                           " on the host; once would save about " + format_seconds(saved) + " of " +
                           format_seconds(plan.predicted_seconds) + " predicted (" + machine_phrase(plan.machine) + ")",
                       {},
                       0});
    allow_as_marked(d, graph, work.nodes);
    std::vector<Advice> its;
    if (std::optional<Advice> move = moving(graph, work, saved)) its.push_back(*std::move(move));
    add_advised(std::move(d), std::move(its), diagnosis);
  }
}

}  // namespace cleave::planner
