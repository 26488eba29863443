// Messages about costly pins. Each cost is found by planning the program without the pin and comparing the predicted times.
#include <algorithm>
#include <map>
#include <tuple>

#include "graph/base/units.h"
#include "partitioner/report/transfer_diagnostics.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

/// The operations that one `place` of the user pins, by file, line and side. They are all of one line, in program order.
using Pinned = std::map<std::tuple<std::string, int, Side>, std::vector<NodeId>>;

Pinned find_pinned(const Graph& graph) {
  Pinned pinned;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.kind != NodeKind::operation || !node.pin.by_user()) continue;
    pinned[{std::string(node.location.file_name()), node.location.line, node.pin.side}].emplace_back(i);
  }
  return pinned;
}

/// Whether another diagnostic covers these pins: a warning of a round trip reports their cost, and loop-invariant work should be hoisted
/// first.
bool told(const Plan& plan, const std::vector<NodeId>& nodes, const Diagnostics& diagnostics) {
  if (said_at(diagnostics, DiagnosticKind::invariant_host_work, plan.graph->nodes[nodes[0]].location)) return true;
  return std::any_of(plan.round_trips.begin(), plan.round_trips.end(), [&](const RoundTrip& trip) {
    return trip.caused_by_user() && std::find(nodes.begin(), nodes.end(), trip.blamed) != nodes.end();
  });
}

}  // namespace

std::set<NodeId> diagnose_pins(const Plan& plan, Trials& trials, const DiagnosticOptions& options, Diagnostics& diagnostics,
                               std::vector<Advice>& advice) {
  std::set<NodeId> said;
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::costly_pin);
  if (!severity) return said;
  const Graph& graph = *plan.graph;
  for (const auto& [place, nodes] : find_pinned(graph)) {
    if (told(plan, nodes, diagnostics)) continue;
    const std::optional<double> saved = trials.saved_by_unpinning(nodes);
    if (!saved || !worth_warning(plan, *saved)) continue;
    const std::string side = std::get<Side>(place) == Side::host ? "host" : "accelerator";
    Diagnostic d{DiagnosticKind::costly_pin, *severity, "", graph.nodes[nodes[0]].location, 0, {}};
    d.message = "pinning this to the " + side + " makes a run take " + format_seconds(plan.predicted_seconds) + " instead of " +
                format_seconds(plan.predicted_seconds - *saved);
    d.notes.push_back({"predicted, by planning the program without this pin (" + machine_phrase(plan.machine) + ")", {}, 0});
    allow_as_marked(d, graph, nodes);
    const Advice unpinned{Advice::Action::remove_pin, {{d.location, "", {}}}, {}, *saved, 0};
    add_advised(std::move(d), {unpinned}, diagnostics, advice);
    said.insert(nodes.begin(), nodes.end());
  }
  return said;
}

}  // namespace cleave::planner
