// merge_equal: one walk in program order, so that the first of equal nodes is always defined where its duplicates are.
#include "graph/passes/merge_equal.h"

#include "graph/passes/equal_nodes.h"
#include "graph/passes/renumber.h"

namespace cleave {
namespace {

class Merger {
 public:
  explicit Merger(Graph graph) : graph_(std::move(graph)), reads_(graph_.values.size()), equal_(graph_) {
    for (std::size_t i = 0; i < reads_.size(); ++i) reads_[ValueId(i)] = ValueId(i);
  }

  Graph run() {
    walk();
    redirect();
    return std::move(graph_);
  }

 private:
  /// Visits a region's nodes in order, and after each control node its regions. A while's condition stays open during its body, which may
  /// read its values.
  void walk() {
    for (RegionId region; const NodeId node : program_order(graph_).nodes) {
      const RegionId next = graph_.nodes[node].region;
      while (region.valid() && region != next && !graph_.within(next, region)) {
        equal_.close(region);
        region = graph_.regions[region].parent;
      }
      region = next;
      visit(node);
    }
  }

  void visit(NodeId id) {
    Node& node = graph_.nodes[id];
    // A carried node's yielded value is defined later and is not needed here.
    for (ValueId& input : node.inputs) input = reads_[input];
    const bool pure = node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure;
    if (node.kind != NodeKind::constant && !pure) return;
    const NodeId same = equal_.find_or_add(id);
    if (same == id) return;
    // The remaining node reads for both, so an input's transfer is intended only if both mark it.
    Node& kept = graph_.nodes[same];
    for (std::size_t i = 0; i < kept.meant.size(); ++i) kept.meant[i] = kept.meant[i] && i < node.meant.size() && node.meant[i];
    for (std::size_t i = 0; i < node.results.size(); ++i) reads_[node.results[i]] = graph_.nodes[same].results[i];
  }

  void redirect() {
    for (Node& node : graph_.nodes)
      for (ValueId& input : node.inputs) input = reads_[input];
    for (Region& region : graph_.regions)
      if (region.predicate.valid()) region.predicate = reads_[region.predicate];
    for (Output& output : graph_.outputs) output.value = reads_[output.value];
  }

  Graph graph_;
  IdVector<ValueId, ValueId> reads_;  ///< replacement of each value
  EqualNodes equal_;                  ///< nodes of the regions that are open during the walk
};

}  // namespace

Graph merge_equal(Graph graph) {
  return Merger(std::move(graph)).run();
}

}  // namespace cleave
