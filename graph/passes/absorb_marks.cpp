#include "graph/passes/absorb_marks.h"

#include "graph/passes/renumber.h"

namespace cleave {
namespace {

class MarkAbsorber {
 public:
  explicit MarkAbsorber(Graph graph) : graph_(std::move(graph)), kept_(graph_.nodes.size(), true) {
    IdVector<ValueId, bool> ends_loop(graph_.values.size(), false);
    for (std::size_t r = 0; r < graph_.regions.size(); ++r)
      if (const ValueId predicate = graph_.regions[RegionId(r)].predicate) ends_loop[predicate] = true;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (node.op && node.op->moves_to != Side::none && !ends_loop[node.results[0]]) kept_[NodeId(i)] = false;
    }
  }

  Graph run() {
    bool any = false;
    for (const bool kept : kept_) any = any || !kept;
    if (!any) return std::move(graph_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (kept_[NodeId(i)])
        absorb(graph_.nodes[NodeId(i)]);
      else
        hand_on_name(graph_.nodes[NodeId(i)]);
    }
    for (Output& output : graph_.outputs) output.value = unmarked(output.value);
    return in_program_order(std::move(graph_), &kept_);
  }

 private:
  /// The unmarked value at the beginning of a chain of marks.
  [[nodiscard]] ValueId unmarked(ValueId value) const {
    while (!kept_[graph_.values[value].producer]) value = graph_.producer(value).inputs[0];
    return value;
  }

  void absorb(Node& node) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId read = unmarked(node.inputs[i]);
      if (read == node.inputs[i]) continue;
      node.inputs[i] = read;
      node.meant.resize(node.inputs.size(), 0);
      node.meant[i] = 1;
    }
  }

  /// Passes the user's name of a mark's result to the marked value if that has none.
  void hand_on_name(const Node& mark) {
    std::string& name = graph_.values[unmarked(mark.results[0])].name;
    if (name.empty()) name = graph_.values[mark.results[0]].name;
  }

  Graph graph_;
  IdVector<NodeId, bool> kept_;
};

}  // namespace

Graph absorb_marks(Graph graph) {
  return MarkAbsorber(std::move(graph)).run();
}

}  // namespace cleave
