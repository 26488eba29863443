#include "graph/gradient/differentiate.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/gradient/active.h"
#include "graph/gradient/backward.h"
#include "graph/passes/renumber.h"
#include "graph/passes/verify.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

using gradients::ActiveValues;
using gradients::ActivityAnalysis;
using gradients::Backward;
using gradients::GradientRequest;

bool is_transform(const Node& node) {
  return node.kind == NodeKind::operation && (node.op == &op::gradient || node.op == &op::stop_gradient);
}

class Differentiation {
 public:
  explicit Differentiation(Graph graph) : graph_(std::move(graph)) {}

  Graph run() {
    std::vector<NodeId> calls;
    for (const NodeId id : program_order(graph_).nodes)
      if (graph_.nodes[id].kind == NodeKind::operation && graph_.nodes[id].op == &op::gradient) calls.push_back(id);
    for (const NodeId call : calls) {
      if (!replace_call(call)) return std::move(graph_);
    }
    replace_stops();
    return cleaned();
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
    Tracer tracer(std::move(graph_));
    tracer.insert_at(region, call);
    Backward backward(tracer, request, active);
    std::vector<ValueId> gradients;
    for (const Part& gradient : backward.run())
      gradients.push_back(tracer.materialize(gradient.operand(), tracer.graph().nodes[call].location).value);
    tracer.end_insertion();
    graph_ = tracer.release();
    if (const auto& refused = backward.refusal()) {
      const std::string name(graph_.nodes[refused->node].op->name);
      analysis.refuse(refused->node,
                      "`" + name + "` has no gradient " + refused->of_what + "; `stop_gradient` takes its operand for a constant",
                      graph_.diagnostics);
    }
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
      if (node.kind != NodeKind::operation || node.op != &op::stop_gradient) continue;
      from.push_back(node.results[0]);
      to.push_back(node.inputs[0]);
    }
    redirect(from, to);
  }

  Graph cleaned() {
    IdVector<NodeId, bool> keep(graph_.nodes.size(), true);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) keep[NodeId(i)] = !is_transform(graph_.nodes[NodeId(i)]);
    return in_program_order(std::move(graph_), &keep);
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
