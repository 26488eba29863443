// What was said while the model was read, under the flags, with advice.
#include "partitioner/report/diagnostics.h"

namespace cleave::planner {
namespace {

/// The diagnostics that the flags leave, with the severities that they give.
Diagnostics filtered(const Diagnostics& said, const DiagnosticOptions& options) {
  Diagnostics kept;
  for (Diagnostic each : said) {
    if (!info(each.kind).always_error) {
      const std::optional<Severity> severity = options.severity_of(each.kind);
      if (!severity) continue;
      if (each.severity != Severity::allowed) each.severity = *severity;
      kept.add(std::move(each));
      continue;
    }
    if (each.severity != Severity::error && options.no_warnings) continue;
    if (each.severity == Severity::warning && options.all_as_error) each.severity = Severity::error;
    kept.add(std::move(each));
  }
  return kept;
}

/// Advises the removal of each statement whose result is never read.
std::vector<Advice> removals(const Diagnostics& said) {
  std::vector<Advice> advice;
  for (const Diagnostic& each : said)
    if (each.kind == DiagnosticKind::unused && each.severity != Severity::allowed)
      advice.push_back({Advice::Action::remove_statement,
                        {{each.location, "", {}}},
                        {},
                        0,
                        Advice::kInMessage,
                        {each.kind, each.location, each.message}});
  return advice;
}

}  // namespace

Diagnosis said_while_reading(const Diagnostics& said, const DiagnosticOptions& options) {
  Diagnosis diagnosis{filtered(said, options), {}};
  diagnosis.advice = removals(diagnosis.diagnostics);
  return diagnosis;
}

}  // namespace cleave::planner
