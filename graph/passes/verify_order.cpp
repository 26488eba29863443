// The rules of order: a value is read only where it has been computed and is visible, and effects keep their order.
#include "graph/passes/verify_rules.h"

namespace cleave::detail {
namespace {

/// Walks the program once, without recursion, and tracks for each value whether it is readable at the current point.
class Order {
 public:
  Order(const Graph& graph, Findings& findings)
      : graph_(graph), findings_(findings), state_(graph.values.size(), State::not_yet), dependents_(graph.nodes.size()) {}

  void verify() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      if (node.owner.valid()) dependents_[node.owner].push_back(NodeId(i));
    }
    open_.push_back({Graph::kRoot});
    while (!open_.empty() && !findings_.full()) {
      Frame& frame = open_.back();
      const std::vector<NodeId>& nodes = graph_.regions[frame.region].nodes;
      if (frame.next < nodes.size()) {
        const std::size_t position = frame.next++;
        step(nodes, position);  // may open another frame
      } else {
        end(frame.region);
      }
    }
  }

 private:
  enum class State : std::uint8_t { not_yet, readable, gone };
  struct Frame {
    RegionId region;
    std::size_t next = 0;
  };

  void step(const std::vector<NodeId>& nodes, std::size_t position) {
    const NodeId id = nodes[position];
    const Node& node = graph_.nodes[id];
    if (node.kind == NodeKind::merge) {
      check_behind_branch(nodes, position);
    } else if (node.kind != NodeKind::carried) {  // operands of carried and merge are checked at the ends of their regions
      for (ValueId input : node.inputs) read(id, input);
    }
    if (node.kind == NodeKind::carried) {
      show(node.results[0]);
    } else {
      for (ValueId result : node.results) show(result);
    }
    if (!is_control(node.kind)) return;
    if (node.kind != NodeKind::branch) read_dependents(id, 0);
    open_.push_back({node.regions[0]});
  }

  /// Only merges of the same branch are allowed between a branch and its merge.
  void check_behind_branch(const std::vector<NodeId>& nodes, std::size_t position) {
    const NodeId owner = graph_.nodes[nodes[position]].owner;
    const bool behind = position > 0 && (nodes[position - 1] == owner || graph_.nodes[nodes[position - 1]].owner == owner);
    if (!behind)
      findings_.add(describe(graph_, nodes[position]) + " must stand right behind its branch, " + describe(graph_, owner), nodes[position]);
  }

  void end(RegionId id) {
    const Region& region = graph_.regions[id];
    if (region.predicate.valid() && state_[region.predicate] != State::readable) {
      findings_.add(describe(graph_, id) + " tests " + describe(graph_, region.predicate) + ", which cannot be read there", region.owner);
    }
    switch (region.kind) {
      case RegionKind::root: return end_program();
      case RegionKind::while_condition:
        // The body follows and may read the condition's values, so both are closed together.
        open_.back() = {graph_.nodes[region.owner].regions[1]};
        return;
      case RegionKind::for_body:
      case RegionKind::while_body: read_dependents(region.owner, 1); break;
      case RegionKind::then_arm: read_dependents(region.owner, 0); break;
      case RegionKind::else_arm: read_dependents(region.owner, 1); break;
    }
    hide(id);
    if (region.kind == RegionKind::while_body) hide(region.parent);
    if (region.kind == RegionKind::then_arm) {
      open_.back() = {graph_.nodes[region.owner].regions[1]};
      return;
    }
    for (NodeId node : dependents_[region.owner]) {
      if (graph_.nodes[node].kind == NodeKind::carried) show(graph_.nodes[node].results[1]);
    }
    open_.pop_back();
  }

  void end_program() {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Output& output = graph_.outputs[i];
      if (state_[output.value] == State::readable) continue;
      findings_.add_output(
          "the output `" + output.name + "` is " + describe(graph_, output.value) + ", which does not live in the root region", i);
    }
    open_.pop_back();
  }

  /// Input `index` of all carried values or merges of a control node.
  void read_dependents(NodeId control, std::size_t index) {
    for (NodeId node : dependents_[control]) {
      if (graph_.nodes[node].inputs.size() == 2) read(node, graph_.nodes[node].inputs[index]);
    }
  }

  void read(NodeId reader, ValueId value) {
    if (state_[value] == State::readable) return;
    findings_.add(describe(graph_, reader) + " reads " + describe(graph_, value) +
                      (state_[value] == State::gone ? " outside the region where it lives" : " before it is there"),
                  reader);
  }

  void show(ValueId value) { state_[value] = State::readable; }

  void hide(RegionId region) {
    for (NodeId node : graph_.regions[region].nodes) {
      for (ValueId result : graph_.nodes[node].results) {
        if (graph_.values[result].region == region) state_[result] = State::gone;
      }
      if (!is_control(graph_.nodes[node].kind)) continue;
      for (NodeId dependent : dependents_[node]) {
        if (graph_.nodes[dependent].kind == NodeKind::carried) state_[graph_.nodes[dependent].results[1]] = State::gone;
      }
    }
  }

  const Graph& graph_;
  Findings& findings_;
  IdVector<ValueId, State> state_;
  IdVector<NodeId, std::vector<NodeId>> dependents_;  ///< per control node: its counter, carried values or merges
  std::vector<Frame> open_;
};

}  // namespace

void verify_order(const Graph& graph, Findings& findings) {
  Order(graph, findings).verify();
}

}  // namespace cleave::detail
