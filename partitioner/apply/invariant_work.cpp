#include "partitioner/apply/invariant_work.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cleave::planner {
namespace {

bool in_loop(RegionKind kind) {
  return kind == RegionKind::for_body || kind == RegionKind::while_condition || kind == RegionKind::while_body;
}

/// Finds loop-invariant host work and groups it by data dependence.
class InvariantSearch {
 public:
  InvariantSearch(const Graph& graph, const CostedProblem& costed, const Placement& placement)
      : graph_(graph), costed_(costed), placement_(placement), uses_(*costed.uses), loop_(graph.nodes.size()) {}

  std::vector<InvariantWork> run() {
    std::vector<NodeId> order;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) order.emplace_back(i);
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return uses_.begin(a) < uses_.begin(b); });
    for (const NodeId id : order) loop_[id] = outermost(id);
    std::vector<InvariantWork> found;
    for (const std::vector<NodeId>& group : groups(order)) {
      const InvariantWork work = describe(group);
      if (work.blamed) found.push_back(work);
    }
    std::sort(found.begin(), found.end(),
              [&](const InvariantWork& a, const InvariantWork& b) { return uses_.begin(a.blamed) < uses_.begin(b.blamed); });
    return found;
  }

 private:
  /// Whether a region belongs to the loop or is nested in it.
  [[nodiscard]] bool inside(RegionId region, NodeId loop) const {
    for (; region != Graph::kRoot; region = graph_.regions[region].parent) {
      if (graph_.regions[region].owner == loop) return true;
    }
    return false;
  }

  /// The outermost loop around a node in which the node's result is invariant; none if there is none. A node in an arm of a branch is not
  /// moved out of the branch.
  [[nodiscard]] NodeId outermost(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const bool moves = node.kind == NodeKind::constant || (node.kind == NodeKind::operation && graph_.purity(id) == Purity::pure);
    NodeId found;
    if (!moves) return found;
    for (RegionId region = node.region; in_loop(graph_.regions[region].kind);) {
      const NodeId loop = graph_.regions[region].owner;
      const bool changes = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        const NodeId producer = graph_.values[input].producer;
        const bool goes_along = loop_[producer] && (loop_[producer] == loop || !inside(graph_.nodes[loop_[producer]].region, loop));
        return inside(graph_.values[input].region, loop) && !goes_along;
      });
      if (changes) break;
      found = loop;
      region = graph_.nodes[loop].region;
    }
    return found;
  }

  [[nodiscard]] bool host_work(NodeId id) const {
    return loop_[id] && graph_.nodes[id].kind == NodeKind::operation && placement_.has_copy(id.index, kHost) &&
           !placement_.has_copy(id.index, kAccelerator);
  }

  /// Groups the invariant host operations of a loop: two are in one group if one reads the other's result.
  std::vector<std::vector<NodeId>> groups(const std::vector<NodeId>& order) {
    std::vector<std::size_t> parent(graph_.nodes.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for (const NodeId id : order) {
      if (!host_work(id)) continue;
      for (const ValueId input : graph_.nodes[id].inputs) {
        const NodeId producer = graph_.values[input].producer;
        if (host_work(producer) && loop_[producer] == loop_[id]) parent[root(producer.index)] = root(id.index);
      }
    }
    std::map<std::size_t, std::vector<NodeId>> members;
    for (const NodeId id : order) {
      if (host_work(id)) members[root(id.index)].push_back(id);
    }
    std::vector<std::vector<NodeId>> result;
    for (auto& [first, nodes] : members) result.push_back(std::move(nodes));
    return result;
  }

  InvariantWork describe(const std::vector<NodeId>& group) const {
    InvariantWork work;
    work.loop = loop_[group.front()];
    double most = -1;
    for (const NodeId id : group) {
      const double seconds = costed_.frequency[graph_.nodes[id].region] * costed_.problem.nodes[id.index].host_seconds;
      work.seconds += seconds;
      const Cause cause = costed_.forced[id.index];
      const bool by_user = cause == Cause::pinned || cause == Cause::no_kernel;
      const bool mark = graph_.nodes[id].op->moves_to != Side::none;
      if (!by_user || mark || seconds <= most) continue;
      most = seconds;
      work.blamed = id;
    }
    if (work.blamed) work.nodes = with_what_they_read(group, work.loop);
    return work;
  }

  [[nodiscard]] std::vector<NodeId> with_what_they_read(std::vector<NodeId> nodes, NodeId loop) const {
    std::vector<std::uint8_t> taken(graph_.nodes.size(), 0);
    for (const NodeId id : nodes) taken[id.index] = 1;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId input : graph_.nodes[nodes[i]].inputs) {
        const NodeId producer = graph_.values[input].producer;
        if (taken[producer.index] || !inside(graph_.values[input].region, loop)) continue;
        taken[producer.index] = 1;
        nodes.push_back(producer);
      }
    }
    std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return uses_.begin(a) < uses_.begin(b); });
    return nodes;
  }

  const Graph& graph_;
  const CostedProblem& costed_;
  const Placement& placement_;
  const ValueUses& uses_;
  IdVector<NodeId, NodeId> loop_;  ///< by node: the outermost loop in which it is invariant; none
};

}  // namespace

std::vector<InvariantWork> find_invariant_work(const Graph& graph, const CostedProblem& costed, const Placement& placement) {
  return InvariantSearch(graph, costed, placement).run();
}

}  // namespace cleave::planner
