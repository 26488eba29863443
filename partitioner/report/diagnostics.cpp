#include "partitioner/report/diagnostics.h"

#include <algorithm>

#include "graph/base/diagnostic_help.h"
#include "partitioner/report/diagnostic_parts.h"

namespace cleave::planner {

void allow_as_marked(Diagnostic& diagnostic, const Graph& graph, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    if (!node) continue;
    for (const Allowance& allowance : graph.nodes[node].allowed) {
      if (allowance.kind != diagnostic.kind) continue;
      diagnostic.severity = Severity::allowed;
      diagnostic.notes.push_back(allowance_note(allowance.reason));
      return;
    }
  }
}

void add_advised(Diagnostic diagnostic, std::vector<Advice> advice, Diagnosis& diagnosis) {
  for (Advice& each : advice) {
    if (diagnostic.severity == Severity::allowed) break;
    each.said = {diagnostic.kind, diagnostic.location, diagnostic.message};
    diagnosis.advice.push_back(std::move(each));
  }
  diagnosis.diagnostics.add(std::move(diagnostic));
}

bool said_at(const Diagnostics& diagnostics, DiagnosticKind kind, const SourceLocation& location) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& each) {
    return each.kind == kind && each.location.line == location.line && each.location.file_name() == location.file_name();
  });
}

Diagnosis diagnose(const Plan& plan, const Schedule& schedule, const TriedEdits& tried, const DiagnosticOptions& options) {
  Diagnosis diagnosis;
  diagnose_round_trips(plan, tried, options, diagnosis);
  diagnose_invariant_work(plan, tried, options, diagnosis);
  diagnose_memory(plan, options, diagnosis);
  diagnose_pins(plan, tried, options, diagnosis);
  std::set<NodeId> costly;
  for (const TriedEdits::Unpinning& pinned : tried.unpinnings) costly.insert(pinned.nodes.begin(), pinned.nodes.end());
  diagnose_bottlenecks(plan, costly, options, diagnosis);
  diagnose_copies(plan, options, diagnosis);
  diagnose_fallbacks(plan, tried, options, diagnosis);
  diagnose_waiting(plan, schedule, options, diagnosis);
  diagnose_limits(plan, diagnosis);
  diagnosis.diagnostics.sort();
  return diagnosis;
}

}  // namespace cleave::planner
