// Topological sorts of the nodes with different rules for the next node; where a cycle leaves no node without open operands, the first
// node of the problem that is left is next.
#include "partitioner/devices/linear_orders.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

namespace cleave::planner {
namespace {

struct NodeGraph {
  std::vector<std::vector<std::int32_t>> after, before;
};

enum class NextNode : std::uint8_t { newest, oldest, closing, random };

class TopologicalSort {
 public:
  TopologicalSort(const NodeGraph& graph, bool backward)
      : after_(backward ? graph.before : graph.after), before_(backward ? graph.after : graph.before) {}

  std::vector<std::int32_t> run(NextNode rule, std::uint64_t seed) {
    const std::size_t count = after_.size();
    std::vector<std::int32_t> open(count), order;
    std::vector<std::int32_t> readers(count);
    std::vector<std::uint8_t> done(count);
    std::deque<std::int32_t> ready;
    for (std::size_t i = 0; i < count; ++i) {
      open[i] = static_cast<std::int32_t>(before_[i].size());
      readers[i] = static_cast<std::int32_t>(after_[i].size());
      if (open[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
    }
    std::size_t first_left = 0;
    while (order.size() < count) {
      if (ready.empty()) {
        while (done[first_left]) ++first_left;
        ready.push_back(static_cast<std::int32_t>(first_left));
        open[first_left] = 0;
      }
      std::size_t at = 0;
      if (rule == NextNode::newest) at = ready.size() - 1;
      if (rule == NextNode::random) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at = static_cast<std::size_t>(seed >> 33) % ready.size();
      }
      if (rule == NextNode::closing) {
        // The node after which the fewest values are open: it adds its own, and closes those of which it is the last reader.
        std::int32_t least = 1 << 30;
        for (std::size_t i = ready.size(); i-- > 0 && ready.size() - i < 64;) {
          const std::int32_t node = ready[i];
          std::int32_t opened = after_[node].empty() ? 0 : 1;
          for (const std::int32_t operand : before_[node]) opened -= readers[operand] == 1;
          if (opened >= least) continue;
          least = opened;
          at = i;
        }
      }
      const std::int32_t node = ready[at];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
      if (done[node]) continue;
      done[node] = 1;
      order.push_back(node);
      for (const std::int32_t operand : before_[node]) --readers[operand];
      for (const std::int32_t next : after_[node])
        if (!done[next] && --open[next] == 0) ready.push_back(next);
    }
    return order;
  }

 private:
  const std::vector<std::vector<std::int32_t>>&after_, &before_;
};

NodeGraph node_graph(const DeviceProblem& problem) {
  NodeGraph graph;
  graph.after.resize(problem.base.nodes.size());
  graph.before.resize(problem.base.nodes.size());
  for (const auto& use : problem.base.uses) {
    const std::int32_t producer = problem.base.values[use.value].node;
    if (producer != use.node) graph.after[producer].push_back(use.node);
  }
  for (std::size_t i = 0; i < graph.after.size(); ++i) {
    auto& next = graph.after[i];
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    for (const std::int32_t node : next) graph.before[node].push_back(static_cast<std::int32_t>(i));
  }
  return graph;
}

/// The classes by the first, or by the last, of their nodes in an order of the nodes.
std::vector<std::int32_t> of_classes(const DeviceClasses& classes, const std::vector<std::int32_t>& nodes, bool last) {
  std::vector<std::int32_t> order;
  std::vector<std::uint8_t> seen(classes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t c = classes.class_of[nodes[last ? nodes.size() - 1 - i : i]];
    if (seen[c]) continue;
    seen[c] = 1;
    order.push_back(c);
  }
  if (last) std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<std::vector<std::int32_t>> linear_orders(const DeviceProblem& problem, const DeviceClasses& classes, std::uint64_t random) {
  const NodeGraph graph = node_graph(problem);
  std::vector<std::vector<std::int32_t>> orders;
  std::set<std::vector<std::int32_t>> known;
  const auto add = [&](std::vector<std::int32_t> nodes, bool backward) {
    if (backward) std::reverse(nodes.begin(), nodes.end());
    for (const bool last : {false, true}) {
      std::vector<std::int32_t> order = of_classes(classes, nodes, last);
      if (known.insert(order).second) orders.push_back(std::move(order));
    }
  };
  for (const bool backward : {false, true}) {
    for (const NextNode rule : {NextNode::newest, NextNode::oldest, NextNode::closing})
      add(TopologicalSort(graph, backward).run(rule, 0), backward);
    for (std::uint64_t seed = 1; seed <= random; ++seed) add(TopologicalSort(graph, backward).run(NextNode::random, seed), backward);
  }
  return orders;
}

}  // namespace cleave::planner
