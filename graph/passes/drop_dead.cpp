// drop_dead: marks live nodes by one search from the roots, then renumbers without the others.
#include "graph/passes/drop_dead.h"

#include "graph/passes/renumber.h"

namespace cleave {
namespace {

class Liveness {
 public:
  explicit Liveness(const Graph& graph) : graph_(graph), live_(graph.nodes.size(), false) { find(); }

  [[nodiscard]] const IdVector<NodeId, bool>& live() const { return live_; }

 private:
  /// The nodes that effects, outputs, inputs and parameters need. A carried value, and the nodes that feed it, are live only if another
  /// node reads it; a loop or branch is live if any node in it or one of its merges is.
  void find() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      const bool face = node.kind == NodeKind::input || node.kind == NodeKind::parameter;
      if (face || graph_.purity(NodeId(i)) == Purity::effect) mark(NodeId(i));
    }
    for (const Output& output : graph_.outputs) mark(output.value);
    while (!work_.empty()) {
      const Node& node = graph_.nodes[work_.back()];
      work_.pop_back();
      mark(node.owner);
      mark(graph_.regions[node.region].owner);
      for (ValueId input : node.inputs) mark(input);
      for (RegionId region : node.regions) {
        mark(graph_.regions[region].predicate);
        if (graph_.regions[region].kind == RegionKind::for_body) mark(graph_.regions[region].nodes.front());  // the counter
      }
    }
  }

  void mark(NodeId node) {
    if (node.valid() && !live_[node]) {
      live_[node] = true;
      work_.push_back(node);
    }
  }
  void mark(ValueId value) {
    if (value.valid()) mark(graph_.values[value].producer);
  }

  const Graph& graph_;
  IdVector<NodeId, bool> live_;
  std::vector<NodeId> work_;
};

}  // namespace

Graph drop_dead(Graph graph) {
  const Liveness liveness(graph);
  return in_program_order(std::move(graph), &liveness.live());
}

}  // namespace cleave
