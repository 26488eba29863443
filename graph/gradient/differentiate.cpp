#include "graph/gradient/differentiate.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/gradient/active.h"
#include "graph/gradient/backward.h"
#include "graph/gradient/recorded_rule.h"
#include "graph/passes/dataflow.h"
#include "graph/passes/renumber.h"
#include "graph/passes/verify.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

using gradients::ActiveValues;
using gradients::ActivityAnalysis;
using gradients::Backward;
using gradients::GradientRequest;
using gradients::is_operation;

bool is_transform(const Node& node) {
  return is_operation(node, op::gradient) || is_operation(node, op::stop_gradient) || is_operation(node, op::custom_gradient) ||
         is_operation(node, op::gradient_rule);
}

class Differentiation {
 public:
  explicit Differentiation(Graph graph) : graph_(std::move(graph)) {}

  Graph run() {
    std::vector<NodeId> calls;
    for (const NodeId id : program_order(graph_).nodes) {
      const Node& node = graph_.nodes[id];
      if (is_operation(node, op::gradient)) calls.push_back(id);
      if (!is_operation(node, op::custom_gradient) || gradients::RecordedRule::find(graph_, id)) continue;
      graph_.diagnostics.error(DiagnosticKind::unsupported, node.location, "`custom_gradient` has no `gradient_rule` behind it");
      return std::move(graph_);
    }
    for (const NodeId call : calls) {
      if (!replace_call(call)) return std::move(graph_);
    }
    const std::vector<NodeId> unused = transforms();
    replace_stops();
    return cleaned(unused);
  }

 private:
  bool replace_call(NodeId call) {
    const std::vector<ValueId>& inputs = graph_.nodes[call].inputs;
    const GradientRequest request{call, inputs[0], {inputs.begin() + 1, inputs.end()}};
    const ActivityAnalysis analysis(graph_, request);
    const ActiveValues& active = analysis.active();
    Diagnostics found;
    const bool good = analysis.check(found);
    graph_.diagnostics.append(found);
    if (!good) return false;

    const RegionId region = graph_.nodes[call].region;
    const Dataflow dataflow(graph_);
    Tracer tracer(std::move(graph_));
    tracer.insert_at(region, call);
    Backward backward(tracer, request, active, dataflow);
    std::vector<ValueId> gradients;
    for (const Part& gradient : backward.run())
      gradients.push_back(tracer.materialize(gradient.operand(), tracer.graph().nodes[call].location).value);
    tracer.end_insertion();
    graph_ = tracer.release();
    if (!graph_.ok()) return false;
    redirect(graph_.nodes[call].results, gradients);
    return true;
  }

  /// All uses of each value of `from` read that of `to`, which inherits its name.
  void redirect(const std::vector<ValueId>& from, const std::vector<ValueId>& to) {
    IdVector<ValueId, ValueId> reads(graph_.values.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      reads[from[i]] = to[i];
      if (graph_.values[to[i]].name.empty()) graph_.values[to[i]].name = graph_.values[from[i]].name;
    }
    const auto change = [&](ValueId& value) {
      while (value.valid() && reads[value].valid()) value = reads[value];
    };
    for (Node& node : graph_.nodes)
      for (ValueId& input : node.inputs) change(input);
    for (Region& region : graph_.regions) change(region.predicate);
    for (Output& output : graph_.outputs) change(output.value);
  }

  void replace_stops() {
    std::vector<ValueId> from, to;
    for (const Node& node : graph_.nodes) {
      if (is_operation(node, op::stop_gradient)) {
        from.push_back(node.results[0]);
        to.push_back(node.inputs[0]);
      }
      if (!is_operation(node, op::custom_gradient)) continue;
      const std::size_t results = node.results.size() / 2, operands = node.inputs.size() - results;
      for (std::size_t i = 0; i < results; ++i) {
        from.push_back(node.results[i]);
        to.push_back(node.inputs[operands + i]);
      }
    }
    redirect(from, to);
  }

  /// The calls that this pass replaces, and the rules of custom gradients.
  [[nodiscard]] std::vector<NodeId> transforms() const {
    std::vector<NodeId> found;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const NodeId id(i);
      if (is_transform(graph_.nodes[id])) found.push_back(id);
      if (!is_operation(graph_.nodes[id], op::custom_gradient)) continue;
      if (const auto rule = gradients::RecordedRule::find(graph_, id))
        found.insert(found.end(), rule->nodes().begin(), rule->nodes().end());
    }
    return found;
  }

  Graph cleaned(const std::vector<NodeId>& unused) {
    IdVector<NodeId, bool> keep(graph_.nodes.size(), true);
    for (const NodeId id : unused) keep[id] = false;
    return check_rules_are_left(keep) ? in_program_order(std::move(graph_), &keep) : std::move(graph_);
  }

  /// Whether nothing but the rule of a custom gradient reads a value of it; else an error at what does.
  bool check_rules_are_left(const IdVector<NodeId, bool>& keep) {
    constexpr const char* kMessage = "a value of the gradient of a function is used outside of it; it exists only there";
    const auto removed = [&](ValueId value) { return value.valid() && !keep[graph_.values[value].producer]; };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (!keep[NodeId(i)]) continue;
      bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), removed);
      for (const RegionId region : node.regions) reads = reads || removed(graph_.regions[region].predicate);
      if (!reads) continue;
      graph_.diagnostics.error(DiagnosticKind::value, node.location, kMessage);
      return false;
    }
    for (const Output& output : graph_.outputs) {
      if (!removed(output.value)) continue;
      graph_.diagnostics.error(DiagnosticKind::value, output.location, kMessage);
      return false;
    }
    return true;
  }

  Graph graph_;
};

}  // namespace

bool has_gradient_calls(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), is_transform);
}

Graph differentiate(Graph graph) {
  if (!graph.ok() || !has_gradient_calls(graph)) return graph;
  graph = Differentiation(std::move(graph)).run();
#ifndef NDEBUG
  const std::vector<std::string> broken = graph.ok() ? verify(graph) : std::vector<std::string>();
  if (!broken.empty()) detail::check_failed("verify(graph).empty()", __FILE__, __LINE__, ("differentiate: " + broken.front()).c_str());
#endif
  return graph;
}

}  // namespace cleave
