// hoist_invariant: one walk in program order chooses the destination of each node; then the node lists of all regions are rebuilt.
#include "graph/passes/hoist_invariant.h"

#include <algorithm>

#include "graph/passes/renumber.h"
#include "graph/passes/sink.h"

namespace cleave {
namespace {

class Hoisting {
 public:
  explicit Hoisting(Graph graph)
      : graph_(std::move(graph)),
        frequency_(region_frequencies(graph_)),
        home_(graph_.nodes.size()),
        depth_(graph_.regions.size(), 0),
        ends_loop_(graph_.values.size(), false) {
    for (std::size_t i = 0; i < home_.size(); ++i) home_[NodeId(i)] = graph_.nodes[NodeId(i)].region;
    for (const RegionId id : program_order(graph_).regions) {
      const Region& region = graph_.regions[id];
      if (region.parent.valid()) depth_[id] = depth_[region.parent] + 1;
      if (region.predicate.valid()) ends_loop_[region.predicate] = true;
    }
  }

  Graph run() {
    const std::vector<NodeId> order = program_order(graph_).nodes;
    for (const NodeId id : order) home_[id] = best_region(id);
    if (!move(order)) return std::move(graph_);
    return in_program_order(std::move(graph_));
  }

 private:
  [[nodiscard]] bool moves(NodeId id) const { return home_[id] != graph_.nodes[id].region; }

  /// Among the node's region and its enclosing ones in which all operands are visible, the one that runs least often; of equals the
  /// innermost.
  [[nodiscard]] RegionId best_region(NodeId id) const {
    const Node& node = graph_.nodes[id];
    RegionId best = node.region;
    if (!is_movable(graph_, id) || ends_loop_[node.results[0]]) return best;
    int deepest = 0;  // depth of the innermost region that defines an operand; these regions are nested in each other
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph_.values[input].producer;
      const NodeKind kind = graph_.nodes[producer].kind;
      if (kind == NodeKind::constant) continue;  // a constant moves to the region that needs it
      deepest = std::max(deepest, depth_[kind == NodeKind::operation ? home_[producer] : graph_.values[input].region]);
    }
    for (RegionId region = best; depth_[region] > deepest;) {
      region = graph_.regions[region].parent;
      if (frequency_[region] < frequency_[best]) best = region;
    }
    return best;
  }

  /// Inserts moved nodes in front of the loop or branch that they leave, in program order. Returns whether any node moved.
  bool move(const std::vector<NodeId>& order) {
    IdVector<NodeId, std::vector<NodeId>> front(graph_.nodes.size());  // nodes to insert in front of a control node
    bool any = false;
    for (const NodeId id : order) {
      if (!moves(id)) continue;
      any = true;
      const NodeId before = holder(graph_, graph_.nodes[id].region, home_[id]);
      for (const ValueId input : graph_.nodes[id].inputs) take_constant(graph_.values[input].producer, home_[id], front[before]);
      front[before].push_back(id);
    }
    if (!any) return false;
    for (std::size_t r = 0; r < graph_.regions.size(); ++r) {
      const RegionId region(r);
      std::vector<NodeId> nodes;
      for (const NodeId id : graph_.regions[region].nodes) {
        if (home_[id] != region) continue;
        for (const NodeId moved : front[id]) {
          if (home_[moved] == region) nodes.push_back(moved);  // a constant may have moved further out for another reader
        }
        nodes.push_back(id);
      }
      graph_.regions[region].nodes = std::move(nodes);
    }
    for (std::size_t i = 0; i < home_.size(); ++i) settle(NodeId(i));
    return true;
  }

  /// A constant in the loop that a moved node reads must move, too.
  void take_constant(NodeId id, RegionId region, std::vector<NodeId>& front) {
    if (graph_.nodes[id].kind != NodeKind::constant || graph_.within(region, home_[id])) return;
    home_[id] = region;
    front.push_back(id);
  }

  void settle(NodeId id) {
    Node& node = graph_.nodes[id];
    if (node.region == home_[id]) return;
    node.region = home_[id];
    for (const ValueId result : node.results) graph_.values[result].region = home_[id];
  }

  Graph graph_;
  const IdVector<RegionId, double> frequency_;
  IdVector<NodeId, RegionId> home_;  ///< destination region of each node
  IdVector<RegionId, int> depth_;
  IdVector<ValueId, bool> ends_loop_;  ///< a loop's predicate is computed in the loop
};

}  // namespace

bool is_movable(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  return node.kind == NodeKind::operation && graph.purity(id) == Purity::pure && !node.op->may_fail && node.op->moves_to == Side::none &&
         !node.host_function();
}

Graph hoist_invariant(Graph graph) {
  if (graph.regions.size() == 1) return graph;
  return Hoisting(std::move(graph)).run();
}

}  // namespace cleave
