#include "graph/metrics.h"

#include <algorithm>

#include "graph/vocabulary.h"

namespace cleave {
namespace {

bool is_loop(const Node& node) {
  return node.kind == NodeKind::for_loop || node.kind == NodeKind::while_loop;
}

template <class T>
bool contains(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

bool same_place(const SourceLocation& a, const SourceLocation& b) {
  return a.known() && a.line == b.line && a.column == b.column && a.file_name() == b.file_name();
}

/// The loops around a node, the innermost first.
std::vector<NodeId> loops_around(const Graph& graph, NodeId node) {
  std::vector<NodeId> loops;
  for (RegionId region = graph.nodes[node].region; region != Graph::kRoot;) {
    const NodeId owner = graph.regions[region].owner;
    if (is_loop(graph.nodes[owner])) loops.push_back(owner);
    region = graph.nodes[owner].region;
  }
  return loops;
}

}  // namespace

std::vector<std::string> logged_labels(const Graph& graph) {
  std::vector<std::string> labels;
  for (const Node& node : graph.nodes) {
    if (node.op != &op::log_metric) continue;
    if (const auto& label = node.attributes.get<std::string>("label"); !contains(labels, label)) labels.push_back(label);
  }
  return labels;
}

std::vector<NodeId> logs_of(const Graph& graph, std::string_view label) {
  std::vector<NodeId> logs;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    if (node.op == &op::log_metric && node.attributes.get<std::string>("label") == label) logs.push_back(NodeId(i));
  }
  return logs;
}

std::vector<NodeId> logging_loops(const Graph& graph) {
  struct Log {
    NodeId node;
    std::vector<NodeId> around;
  };
  std::vector<Log> logs;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].op == &op::log_metric) logs.push_back({NodeId(i), loops_around(graph, NodeId(i))});
  const auto again_behind_loop = [&](const Log& log) {  // the same statement stands in a loop inside of this one
    return std::any_of(logs.begin(), logs.end(), [&](const Log& other) {
      return other.around.size() > log.around.size() && same_place(graph.nodes[other.node].location, graph.nodes[log.node].location);
    });
  };
  std::vector<NodeId> direct, outermost;
  for (const Log& log : logs)
    if (!log.around.empty() && !contains(direct, log.around.front()) && !again_behind_loop(log)) direct.push_back(log.around.front());
  for (const NodeId loop : direct) {
    const std::vector<NodeId> around = loops_around(graph, loop);
    if (std::none_of(around.begin(), around.end(), [&](NodeId outer) { return contains(direct, outer); })) outermost.push_back(loop);
  }
  return outermost;
}

std::vector<std::string> labels_inside(const Graph& graph, const std::vector<NodeId>& loops) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[NodeId(i)].op != &op::log_metric) continue;
    const std::vector<NodeId> around = loops_around(graph, NodeId(i));
    if (std::any_of(around.begin(), around.end(), [&](NodeId loop) { return contains(loops, loop); }))
      labels.push_back(graph.nodes[NodeId(i)].attributes.get<std::string>("label"));
  }
  return labels;
}

}  // namespace cleave
