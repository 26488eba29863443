// parts_of(), make_group() and request_for(): the parts of a group under a placement, its interface, and its KernelRequest.
#include "graph/kernel/fusible_group.h"

#include <algorithm>
#include <utility>

namespace cleave::kernels {

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes)
    for (const ValueId input : node.inputs) ++uses[input.index];
  for (const Region& region : graph.regions)
    if (region.predicate) ++uses[region.predicate.index];
  for (const Output& output : graph.outputs) ++uses[output.value.index];
  return uses;
}

std::vector<FusibleGroup> parts_of(const FusibleGroup& group, const std::function<bool(NodeId)>& on_side) {
  std::vector<FusibleGroup> parts;
  FusibleGroup open;
  const auto close = [&] {
    while (!open.nodes.empty() && open.waits(open.nodes.size() - 1)) {
      open.nodes.pop_back();
      open.must_hide.pop_back();
      open.waiting.pop_back();
    }
    if (open.nodes.size() > 1) parts.push_back(std::move(open));
    open = {};
  };
  const auto join = [&](std::size_t i) {
    open.nodes.push_back(group.nodes[i]);
    open.must_hide.push_back(group.must_hide[i]);
    open.waiting.push_back(group.waits(i) ? 1 : 0);
  };
  for (std::size_t i = group.pulled; i < group.nodes.size(); ++i) {
    if (!on_side(group.nodes[i])) {
      close();
      continue;
    }
    if (i == group.pulled) {
      for (std::size_t k = 0; k < group.pulled; ++k)
        if (on_side(group.nodes[k])) join(k);
      open.pulled = open.nodes.size();
    }
    if (!open.nodes.empty() || !group.waits(i)) join(i);
  }
  close();
  return parts;
}

FusionGroup make_group(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<int>& uses) {
  FusionGroup group{nodes, {}, {}};
  std::vector<std::pair<ValueId, int>> own;  // results, with the number of their reads inside the group
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.nodes[id].inputs) {
      const auto found = std::find_if(own.begin(), own.end(), [&](const auto& each) { return each.first == input; });
      if (found != own.end()) {
        ++found->second;
      } else if (std::find(group.inputs.begin(), group.inputs.end(), input) == group.inputs.end()) {
        group.inputs.push_back(input);
      }
    }
    own.emplace_back(graph.nodes[id].results[0], 0);
  }
  for (const auto& [value, reads] : own) {
    if (uses[value.index] > reads || value == own.back().first) group.results.push_back(value);
  }
  return group;
}

KernelRequest request_for(const Graph& graph, const FusionGroup& group) {
  const Node& last = graph.nodes[group.nodes.back()];
  KernelRequest request{group.nodes.back(), last.op, &last.attributes, {}, {}, {}, {}, {}, {}};
  for (const ValueId input : group.inputs) request.input_types.push_back(graph.values[input].type);
  std::vector<ValueId> operands = group.inputs;
  for (const NodeId id : group.nodes) {
    const Node& node = graph.nodes[id];
    FusedStep step{id, node.op, &node.attributes, {}, graph.values[node.results[0]].type};
    for (const ValueId input : node.inputs)
      step.operands.push_back(static_cast<std::size_t>(std::find(operands.begin(), operands.end(), input) - operands.begin()));
    operands.push_back(node.results[0]);
    request.steps.push_back(std::move(step));
  }
  for (const ValueId result : group.results) {
    request.result_types.push_back(graph.values[result].type);
    const auto place = std::find(operands.begin(), operands.end(), result) - operands.begin();
    request.written.push_back(static_cast<std::size_t>(place) - group.inputs.size());
  }
  return request;
}

}  // namespace cleave::kernels
