// Messages about costly pins. Each cost was found by planning the program without the pin.
#include "graph/base/units.h"
#include "partitioner/report/diagnostic_parts.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {

void diagnose_pins(const Plan& plan, const TriedEdits& tried, const DiagnosticOptions& options, Diagnosis& diagnosis) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::costly_pin);
  if (!severity) return;
  const Graph& graph = *plan.graph;
  for (const TriedEdits::Unpinning& pinned : tried.unpinnings) {
    const std::string side = pinned.side == Side::host ? "host" : "accelerator";
    Diagnostic d{DiagnosticKind::costly_pin, *severity, "", graph.nodes[pinned.nodes[0]].location, 0, {}};
    d.message = "pinning this to the " + side + " makes a run take " + format_seconds(plan.predicted_seconds) + " instead of " +
                format_seconds(plan.predicted_seconds - pinned.saved_seconds);
    d.notes.push_back({"predicted, by planning the program without this pin (" + machine_phrase(plan.machine) + ")", {}, 0});
    allow_as_marked(d, graph, pinned.nodes);
    const Advice unpinned{Advice::Action::remove_pin, {{d.location, "", {}}}, {}, pinned.saved_seconds, 0};
    add_advised(std::move(d), {unpinned}, diagnosis);
  }
}

}  // namespace cleave::planner
