#include "executor/check/find_nan.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "executor/check/verify_node.h"
#include "graph/metrics.h"
#include "graph/statement_paths.h"
#include "graph/written.h"

namespace cleave::runtime {
namespace {

bool has_nan(const Array& array) {
  if (!is_floating(array.dtype())) return false;
  for (std::int64_t i = 0; i < array.size(); ++i)
    if (std::isnan(array.at(i))) return true;
  return false;
}

/// The nodes on which `wanted` depend, also through what a loop carries and what the arms of a branch yield.
IdVector<NodeId, bool> sources_of(const Graph& graph, std::vector<NodeId> wanted) {
  IdVector<NodeId, bool> sources(graph.nodes.size());
  while (!wanted.empty()) {
    const NodeId node = wanted.back();
    wanted.pop_back();
    if (sources[node]) continue;
    sources[node] = true;
    for (const ValueId input : graph.nodes[node].inputs) wanted.push_back(graph.values[input].producer);
  }
  return sources;
}

}  // namespace

NanSearch::NanSearch(const Graph& graph, std::string_view label)
    : graph_(graph), logs_(logs_of(graph, label)), suspects_(sources_of(graph, logs_)) {}

bool NanSearch::looks_at(NodeId node, const FusionGroup* group) const {
  if (!group) return suspects_[node];
  return std::any_of(group->nodes.begin(), group->nodes.end(), [this](NodeId each) { return suspects_[each]; });
}

void NanSearch::look(const BoundAttributes& bound, NodeId node, const FusionGroup* group, std::span<const Array> inputs,
                     std::span<const Array> results) {
  const std::vector<ValueId>& operands = group ? group->inputs : graph_.nodes[node].inputs;
  const std::vector<ValueId>& written = group ? group->results : graph_.nodes[node].results;
  NodeId origin;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!has_nan(results[i])) {
      origins_.erase(written[i]);
      continue;
    }
    for (std::size_t k = 0; k < inputs.size() && !origin.valid(); ++k)
      if (has_nan(inputs[k])) origin = origin_of(operands[k]);
    if (!origin.valid()) origin = maker(bound, node, group, inputs);
    origins_[written[i]] = origin;
  }
}

/// The node that made the NaN of a value, through the loops and branches that it comes by.
NodeId NanSearch::origin_of(ValueId value) const {
  const NodeId producer = graph_.values[value].producer;
  if (const auto known = origins_.find(value); known != origins_.end()) return known->second;
  const Node& node = graph_.nodes[producer];
  if (node.kind == NodeKind::carried) {
    const auto yielded = origins_.find(node.inputs[1]);
    return yielded != origins_.end() ? yielded->second : origin_of(node.inputs[0]);
  }
  if (node.kind == NodeKind::merge) {
    const auto first = origins_.find(node.inputs[0]);
    return first != origins_.end() ? first->second : origin_of(node.inputs[1]);
  }
  return producer;
}

/// The operation that made a NaN of operands without one; of a group, by the reference implementations, the last one if they make none.
NodeId NanSearch::maker(const BoundAttributes& bound, NodeId node, const FusionGroup* group, std::span<const Array> inputs) const {
  if (!group) return node;
  std::vector<std::pair<ValueId, Array>> known;
  for (std::size_t i = 0; i < inputs.size(); ++i) known.emplace_back(group->inputs[i], inputs[i]);
  for (const NodeId id : group->nodes) {
    std::vector<Array> operands;
    for (const ValueId input : graph_.nodes[id].inputs)
      operands.push_back(std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.first == input; })->second);
    Result<std::vector<Array>> made = reference_results(graph_, bound, id, operands);
    if (!made) break;
    if (std::any_of(made->begin(), made->end(), has_nan)) return id;
    for (std::size_t i = 0; i < made->size(); ++i) known.emplace_back(graph_.nodes[id].results[i], std::move((*made)[i]));
  }
  return group->nodes.back();
}

std::optional<Error> NanSearch::found(const std::string& logged) const {
  const std::lock_guard lock(mutex_);
  for (const NodeId log : logs_) {
    const NodeId origin = origin_of(graph_.nodes[log].inputs[0]);
    const Node& node = graph_.nodes[origin];
    if (node.kind == NodeKind::operation && !origins_.contains(graph_.nodes[log].inputs[0])) continue;
    const std::string path = StatementPaths(graph_).of(node.location);
    const std::string what = node.kind == NodeKind::operation
                                 ? "the first NaN on its way is the result of `" + written(graph_, origin) + "`"
                                 : "`" + graph_.display_name(origin) + "` holds a NaN from the start";
    return Error{logged + "; " + what + (path.empty() ? "" : " (" + path + ")"), node.location, ErrorKind::user};
  }
  return std::nullopt;
}

}  // namespace cleave::runtime
