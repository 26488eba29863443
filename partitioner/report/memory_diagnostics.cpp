// Messages about operations that left the accelerator for lack of memory.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/base/units.h"
#include "partitioner/report/diagnostic_parts.h"
#include "partitioner/report/wording.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kMostValues = 3;  ///< values named at the peak

/// The operand that can be split by rows together with the result: the first of a matrix product, the largest of an element-wise operation.
std::optional<ValueId> operand_by_rows(const Graph& graph, const Node& node) {
  if (node.results.size() != 1 || node.inputs.empty()) return std::nullopt;
  const auto shape_of = [&](ValueId value) -> const Shape& { return graph.values[value].type.shape; };
  const Shape& result = shape_of(node.results[0]);
  if (result.empty()) return std::nullopt;
  if (node.op->cost_class == CostClass::product) {
    const bool matrices = node.inputs.size() == 2 && result.size() == 2 && shape_of(node.inputs[0]).size() == 2;
    return matrices && shape_of(node.inputs[0])[0] == result[0] ? std::optional(node.inputs[0]) : std::nullopt;
  }
  if (!node.op->elementwise()) return std::nullopt;
  const auto whole = std::find_if(node.inputs.begin(), node.inputs.end(), [&](ValueId value) { return shape_of(value) == result; });
  return whole == node.inputs.end() ? std::nullopt : std::optional(*whole);
}

/// The smallest number of parts by rows into which to split an input of the program so that two parts fit at a time, one being copied while
/// the other is processed. The result must fit as a whole. Empty if the parts do not fit, if splitting is not necessary, if another
/// operation reads the input too, or if a loop would have to copy the parts in every iteration.
struct RowParts {
  ValueId operand;
  std::int64_t parts = 0;
};
std::optional<RowParts> parts_that_fit(const Graph& graph, const Node& node, const MemoryShortage& shortage) {
  const std::optional<ValueId> operand = operand_by_rows(graph, node);
  if (!operand || node.region != Graph::kRoot || graph.nodes[graph.values[*operand].producer].kind != NodeKind::input) return std::nullopt;
  std::ptrdiff_t reads = 0;
  for (const Node& reader : graph.nodes) reads += std::count(reader.inputs.begin(), reader.inputs.end(), *operand);
  if (reads > 1) return std::nullopt;
  const std::int64_t rows = graph.values[*operand].type.shape[0];
  const auto parted = static_cast<double>(graph.values[*operand].type.bytes());
  const double room = shortage.memory_bytes - std::max(0.0, shortage.peak.bytes - parted);
  if (room <= 0) return std::nullopt;
  const double parts = std::ceil(2 * parted / room);
  if (parts < 2 || parts > static_cast<double>(rows)) return std::nullopt;
  return RowParts{*operand, static_cast<std::int64_t>(parts)};
}

}  // namespace

void diagnose_memory(const Plan& plan, const DiagnosticOptions& options, Diagnosis& diagnosis) {
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
  const bool kept = std::all_of(left.begin(), left.end(), [&](NodeId id) { return only_keeps(graph, id); });
  if (kept)
    d.message = value_phrase(graph, graph.nodes[*costliest].results[0]) + " is kept on the host, as the accelerator's memory is too small";
  else
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
  if (const std::optional<RowParts> by_rows = parts_that_fit(graph, graph.nodes[*costliest], shortage)) {
    d.notes.push_back(
        {value_phrase(graph, by_rows->operand) + " fits there in " + std::to_string(by_rows->parts) +
             " parts of its rows, one copied while the one before is worked on; that takes about as long as with enough memory",
         {},
         0});
  }
  allow_as_marked(d, graph, {&*costliest, 1});
  diagnosis.diagnostics.add(std::move(d));
}

}  // namespace cleave::planner
