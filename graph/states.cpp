#include "graph/states.h"

#include <algorithm>
#include <string>

#include "graph/base/spelling.h"

namespace cleave {
namespace {

constexpr std::string_view kState = "state";

bool is_leaf(NodeKind kind) {
  return kind == NodeKind::input || kind == NodeKind::parameter;
}

Error no_such(const std::string& what, std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  return {what + "the model has no " + std::string(kind) + " `" + std::string(name) + "`" + did_you_mean_or_has(name, names),
          {},
          ErrorKind::unknown};
}

std::vector<bool> outputs_where(const Graph& graph, bool all) {
  std::vector<bool> found(graph.outputs.size());
  for (const GraphState& state : states_of(graph))
    if (all || state.follows) found[state.output] = true;
  return found;
}

}  // namespace

Status keep_state(Graph& graph, std::string_view input, std::string_view output) {
  const std::string what = std::string(input) + "=" + std::string(output) + ": ";
  Node* leaf = nullptr;
  std::vector<std::string> inputs, outputs;
  bool taken = false;
  for (Node& node : graph.nodes) {
    if (!is_leaf(node.kind)) continue;
    inputs.push_back(graph.values[node.results[0]].name);
    if (inputs.back() == input) leaf = &node;
    const auto* next = node.attributes.get_if<std::string>(kState);
    taken = taken || (next && (inputs.back() == input || *next == output));
  }
  for (const Output& each : graph.outputs) outputs.push_back(each.name);
  const auto next = std::find(outputs.begin(), outputs.end(), output);
  if (!leaf) return no_such(what, "input", input, inputs);
  if (next == outputs.end()) return no_such(what, "output", output, outputs);
  if (!graph.outputs[static_cast<std::size_t>(next - outputs.begin())].lengths.empty())
    return Error{what + "a state keeps its size, and that of `" + std::string(output) + "` depends on data"};
  if (taken) return Error{what + "one of them is part of another state"};
  const TensorType& in = graph.values[leaf->results[0]].type;
  const TensorType& out = graph.values[graph.outputs[static_cast<std::size_t>(next - outputs.begin())].value].type;
  if (in != out)
    return Error{what + "a state keeps its type, and this one goes in as " + to_string(in) + " and comes out as " + to_string(out)};
  leaf->attributes.set(std::string(kState), std::string(output));
  return {};
}

std::vector<GraphState> states_of(const Graph& graph) {
  std::vector<GraphState> states;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    const auto* name = is_leaf(node.kind) ? node.attributes.get_if<std::string>(kState) : nullptr;
    if (!name) continue;
    for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
      const ValueId next = graph.outputs[o].value;
      if (graph.outputs[o].name != *name || graph.values[next].type != graph.values[node.results[0]].type) continue;
      const NodeKind producer = graph.producer(next).kind;
      const bool made = !is_leaf(producer) && producer != NodeKind::constant;
      states.push_back({NodeId(i), node.results[0], next, o, made || next == node.results[0], node.attributes.get_or("hidden", false)});
    }
  }
  return states;
}

std::vector<bool> state_outputs(const Graph& graph) {
  return outputs_where(graph, true);
}

std::vector<bool> followed_outputs(const Graph& graph) {
  return outputs_where(graph, false);
}

}  // namespace cleave
