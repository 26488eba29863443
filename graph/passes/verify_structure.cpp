// The rules of structure: ids are in range, regions form a tree, every node stands in one region, control nodes have the regions of their
// kind.
#include "graph/passes/verify_rules.h"

namespace cleave::detail {
namespace {

class Structure {
 public:
  Structure(const Graph& graph, Findings& findings) : graph_(graph), findings_(findings), placed_(graph.nodes.size(), 0) {}

  void verify() {
    if (!check_ids()) return;  // the checks below index by these ids
    check_tree();
    check_membership();
    check_results();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      check_control(NodeId(i));
      check_owner(NodeId(i));
    }
  }

 private:
  template <class IdType>
  std::string at(IdType id) const {
    return describe(graph_, id);
  }

  bool check_ids() {
    if (graph_.regions.empty()) findings_.add("the graph has no root region");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_ids(NodeId(i));
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[ValueId(i)];
      if (!graph_.nodes.contains(value.producer)) findings_.add(at(ValueId(i)) + " is produced by " + at(value.producer));
      if (!graph_.regions.contains(value.region)) findings_.add(at(ValueId(i)) + " lives in " + at(value.region));
    }
    for (std::size_t i = 0; i < graph_.regions.size(); ++i) {
      const Region& region = graph_.regions[RegionId(i)];
      if (i > 0 && !graph_.regions.contains(region.parent)) findings_.add(at(RegionId(i)) + " has the parent " + at(region.parent));
      if (i > 0 && !graph_.nodes.contains(region.owner)) findings_.add(at(RegionId(i)) + " has the owner " + at(region.owner));
      if (region.predicate.valid() && !graph_.values.contains(region.predicate)) {
        findings_.add(at(RegionId(i)) + " has the predicate " + at(region.predicate));
      }
      for (NodeId node : region.nodes) {
        if (!graph_.nodes.contains(node)) findings_.add(at(RegionId(i)) + " lists " + at(node));
      }
    }
    for (const Output& output : graph_.outputs) {
      if (!graph_.values.contains(output.value)) findings_.add("the output `" + output.name + "` is " + at(output.value));
    }
    return findings_.none();
  }

  void check_ids(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (!graph_.regions.contains(node.region)) findings_.add(at(id) + " stands in " + at(node.region));
    for (ValueId input : node.inputs) {
      if (!graph_.values.contains(input)) findings_.add(at(id) + " reads " + at(input));
    }
    for (ValueId result : node.results) {
      if (!graph_.values.contains(result)) findings_.add(at(id) + " has the result " + at(result));
    }
    for (RegionId region : node.regions) {
      if (!graph_.regions.contains(region)) findings_.add(at(id) + " holds " + at(region));
    }
    if (node.owner.valid() && !graph_.nodes.contains(node.owner)) findings_.add(at(id) + " belongs to " + at(node.owner));
  }

  void check_tree() {
    const Region& root = graph_.regions[Graph::kRoot];
    if (root.kind != RegionKind::root || root.parent.valid() || root.owner.valid()) {
      findings_.add("region 0 must be the root, without parent and owner");
    }
    for (std::size_t i = 1; i < graph_.regions.size(); ++i) {
      const RegionId id(i);
      const Region& region = graph_.regions[id];
      if (region.kind == RegionKind::root) findings_.add(at(id) + " is a second root");
      if (region.parent.index >= i) findings_.add(at(id) + " stands before its parent, " + at(region.parent));
      const std::vector<RegionId>& held = graph_.nodes[region.owner].regions;
      const bool listed = (!held.empty() && held[0] == id) || (held.size() > 1 && held[1] == id);  // no node has more regions
      if (!listed) findings_.add(at(id) + " is not among the regions of its owner, " + at(region.owner));
    }
  }

  void check_membership() {
    for (std::size_t i = 0; i < graph_.regions.size(); ++i) {
      for (NodeId node : graph_.regions[RegionId(i)].nodes) {
        if (graph_.nodes[node].region != RegionId(i))
          findings_.add(at(RegionId(i)) + " lists " + at(node) + ", which stands in " + at(graph_.nodes[node].region));
        if (placed_[node]++ == 1) findings_.add(at(node) + " is listed twice");
      }
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (placed_[NodeId(i)] == 0) findings_.add(at(NodeId(i)) + " is in no region's list");
    }
  }

  void check_results() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[ValueId(i)];
      const std::vector<ValueId>& results = graph_.nodes[value.producer].results;
      if (value.result >= results.size() || results[value.result] != ValueId(i)) {
        findings_.add(at(ValueId(i)) + " is not result " + std::to_string(value.result) + " of its producer, " + at(value.producer));
      }
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[NodeId(i)];
      for (std::size_t k = 0; k < node.results.size(); ++k) {
        const Value& value = graph_.values[node.results[k]];
        if (value.producer != NodeId(i) || value.result != k) {
          findings_.add(at(node.results[k]) + " is also a result of " + at(NodeId(i)));
        }
        const bool after = node.kind == NodeKind::carried && k == 1 && node.owner.valid();
        const RegionId home = after ? graph_.nodes[node.owner].region : node.region;
        if (value.region != home) findings_.add(at(node.results[k]) + " must live in " + at(home) + ", not in " + at(value.region));
      }
    }
  }

  void check_control(NodeId id) {
    const Node& node = graph_.nodes[id];
    std::vector<RegionKind> wanted;
    if (node.kind == NodeKind::for_loop) wanted = {RegionKind::for_body};
    if (node.kind == NodeKind::while_loop) wanted = {RegionKind::while_condition, RegionKind::while_body};
    if (node.kind == NodeKind::branch) wanted = {RegionKind::then_arm, RegionKind::else_arm};
    if (node.regions.size() != wanted.size()) {
      findings_.add(at(id) + " must hold " + std::to_string(wanted.size()) + " regions, not " + std::to_string(node.regions.size()));
      return;
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Region& region = graph_.regions[node.regions[k]];
      const RegionId parent = wanted[k] == RegionKind::while_body ? node.regions[0] : node.region;
      if (region.kind != wanted[k])
        findings_.add(at(node.regions[k]) + " must be a region of kind \"" + std::string(to_string(wanted[k])) + "\"");
      if (region.owner != id) findings_.add(at(node.regions[k]) + " is held by " + at(id) + " but owned by " + at(region.owner));
      if (region.parent != parent)
        findings_.add(at(node.regions[k]) + " must have the parent " + at(parent) + ", not " + at(region.parent));
    }
  }

  /// Checks that counters, carried values and merges have the right control node and region.
  void check_owner(NodeId id) {
    const Node& node = graph_.nodes[id];
    const bool dependent = node.kind == NodeKind::counter || node.kind == NodeKind::carried || node.kind == NodeKind::merge;
    if (!dependent) {
      if (node.owner.valid()) findings_.add(at(id) + " must not have an owner");
      return;
    }
    const NodeKind owner = node.owner.valid() ? graph_.nodes[node.owner].kind : NodeKind::operation;
    const bool fits = node.kind == NodeKind::merge     ? owner == NodeKind::branch
                      : node.kind == NodeKind::counter ? owner == NodeKind::for_loop
                                                       : owner == NodeKind::for_loop || owner == NodeKind::while_loop;
    if (!fits) {
      findings_.add(at(id) + " cannot belong to " + at(node.owner));
      return;
    }
    const Node& control = graph_.nodes[node.owner];
    if (control.regions.empty()) return;  // reported with the control node
    const RegionId home = node.kind == NodeKind::merge ? control.region : control.regions[0];
    if (node.region != home) findings_.add(at(id) + " must stand in " + at(home) + ", not in " + at(node.region));
  }

  const Graph& graph_;
  Findings& findings_;
  IdVector<NodeId, int> placed_;
};

}  // namespace

void verify_structure(const Graph& graph, Findings& findings) {
  Structure(graph, findings).verify();
}

}  // namespace cleave::detail
