// The wording of what left the accelerator for lack of memory.
#include <algorithm>

#include "graph/base/units.h"
#include "partitioner/report/transfer_diagnostics.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostValues = 3;  ///< of the peak, named

}  // namespace

void diagnose_memory(const Plan& plan, const DiagnosticOptions& options, Diagnostics& diagnostics) {
  const std::optional<Severity> severity = options.severity_of(DiagnosticKind::memory_fallback);
  if (!severity || !plan.memory_shortage) return;
  const Graph& graph = *plan.graph;
  const MemoryShortage& shortage = *plan.memory_shortage;
  std::vector<NodeId> left;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation && plan.costed.forced[i] == Cause::memory) left.emplace_back(i);
  }
  if (left.empty()) return;
  const auto costliest = std::max_element(left.begin(), left.end(), [&](NodeId a, NodeId b) {
    const auto seconds = [&](NodeId id) {
      return plan.costed.frequency[graph.nodes[id].region] * plan.costed.problem.nodes[id.index].host_seconds;
    };
    return seconds(a) < seconds(b);
  });
  Diagnostic d{DiagnosticKind::memory_fallback, *severity, "", graph.nodes[*costliest].location, 0, {}};
  const std::string others = std::to_string(left.size() - 1);
  d.message = "`" + culprit_phrase(graph, *costliest) + "` " +
              (left.size() == 1 ? "runs" : "and " + others + (left.size() == 2 ? " other operation run" : " other operations run")) +
              " on the host, as the accelerator's memory is too small";
  d.notes.push_back({"the program would need " + format_bytes(shortage.peak.bytes) + " there at its peak, and there are " +
                         format_bytes(shortage.memory_bytes),
                     {},
                     0});
  const auto named = std::min(shortage.peak.largest.size(), kMostValues);
  for (std::size_t i = 0; i < named; ++i) {
    const ValueId value = shortage.peak.largest[i];
    d.notes.push_back({value_phrase(graph, value) + " (" + type_phrase(graph.values[value].type) + ") lies there then",
                       graph.nodes[graph.values[value].producer].location, 0});
  }
  const double saved = plan.predicted_seconds - shortage.seconds;
  if (saved > 0) {
    d.notes.push_back({"with enough memory a run would be over about " + format_seconds(saved) + " sooner, of " +
                           format_seconds(plan.predicted_seconds) + " predicted (" + machine_phrase(plan.machine) + ")",
                       {},
                       0});
  }
  allow_as_marked(d, graph, {&*costliest, 1});
  diagnostics.add(std::move(d));
}

}  // namespace cleave::planner
