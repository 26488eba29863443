// One walk over the regions: a group is open, and each operation joins it, or closes it and opens the next.
#include "partitioner/machine/fusion.h"

#include <algorithm>
#include <utility>

namespace cleave::planner {
namespace {

class GroupSearch {
 public:
  GroupSearch(const Graph& graph, DeviceId side, const FusionRule& takes)
      : graph_(graph), side_(side), takes_(takes), uses_(count_uses(graph)), lone_(graph.nodes.size(), 0), taken_(graph.nodes.size(), 0) {}

  std::vector<FusibleGroup> run() {
    for (const Region& region : graph_.regions) {
      for (const NodeId id : region.nodes) visit(id);
      close();
    }
    return std::move(groups_);
  }

 private:
  [[nodiscard]] bool fusible(NodeId id) const { return graph_.nodes[id].results.size() == 1 && graph_.purity(id) == Purity::pure; }

  /// Never on this side.
  [[nodiscard]] bool elsewhere(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const Side pinned = node.op->moves_to != Side::none ? node.op->moves_to : node.pin;
    if (side_ == kHost) return pinned == Side::accelerator;
    return pinned == Side::host || node.host_function() || graph_.purity(id) == Purity::effect;
  }

  /// Whether it computes nothing: who reads what it gives may read its one operand in another way instead.
  [[nodiscard]] bool moves(const Node& node) const {
    if (node.op->elementwise() || node.inputs.size() != 1) return false;
    if (!node.op->cost) return true;
    return node.op
               ->cost(std::span(&graph_.values[node.inputs[0]].type, 1), std::span(&graph_.values[node.results[0]].type, 1),
                      node.attributes)
               .flops == 0;
  }

  void visit(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (is_control(node.kind) || node.kind == NodeKind::counter) return close();
    if (node.kind != NodeKind::operation) return;  // it is there already
    if (elsewhere(id)) return pass(node);
    const bool fits = fusible(id);
    if (fits && joins(id)) return;
    if (fits && moves(node) && uses_[node.results[0].index] == 1) {  // it waits for its reader
      lone_[id.index] = 1;
      return pass(node);
    }
    if (fits && pulls(id)) return;
    close();
    if (fits) open_.nodes.push_back(id);
  }
  void pass(const Node& node) { passed_.insert(passed_.end(), node.results.begin(), node.results.end()); }

  /// Earlier operations that move what only `id` reads, wherever they stand, and are in no group.
  [[nodiscard]] std::vector<NodeId> moved_for(NodeId id) const {
    std::vector<NodeId> found;
    for (const ValueId input : graph_.nodes[id].inputs) {
      const NodeId earlier = graph_.values[input].producer;
      const bool is_free = lone_[earlier.index] && !taken_[earlier.index] && !contains(open_.nodes, earlier);
      if (is_free && !contains(found, earlier)) found.push_back(earlier);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// What is moved for `id` and can be read as it lies: all of it, or else as much as there is a kernel for. A product reads a transpose
  /// though its other operand was reshaped.
  [[nodiscard]] std::vector<NodeId> pulled_for(NodeId id) const {
    const auto takes = [&](std::vector<NodeId> nodes) {
      nodes.push_back(id);
      return takes_(request_for(graph_, make_group(graph_, nodes, uses_)));
    };
    std::vector<NodeId> moved = moved_for(id);
    if (moved.empty() || takes(moved)) return moved;
    std::vector<NodeId> some;
    for (const NodeId each : moved) {
      some.push_back(each);
      if (!takes(some)) some.pop_back();
    }
    return some;
  }

  /// Opens a group of `id` and what is moved for it if there is one kernel for them (a transpose that a matrix product reads as it lies):
  /// their own operands are read later instead.
  bool pulls(NodeId id) {
    FusibleGroup pulling{pulled_for(id), 0, {}, {}};
    if (pulling.nodes.empty()) return false;
    pulling.pulled = pulling.nodes.size();
    pulling.nodes.push_back(id);
    close();
    pulling.must_hide.assign(pulling.nodes.size(), 1);
    open_ = std::move(pulling);
    return true;
  }

  /// Whether the open group goes on with `id`: with what is moved for it, or else without.
  bool joins(NodeId id) {
    if (open_.nodes.empty()) return false;
    std::vector<NodeId> moved = moved_for(id);
    const auto stays = [&](NodeId each) {
      const Node& node = graph_.nodes[each];
      return node.region != graph_.nodes[id].region || contains(passed_, node.inputs[0]);
    };
    moved.erase(std::remove_if(moved.begin(), moved.end(), stays), moved.end());
    return (!moved.empty() && joins(id, moved)) || joins(id, {});
  }
  bool joins(NodeId id, const std::vector<NodeId>& moved) {
    if (!connected(graph_.nodes[id], moved)) return false;
    std::vector<NodeId> nodes = open_.nodes;
    nodes.insert(nodes.end(), moved.begin(), moved.end());
    nodes.push_back(id);
    KernelRequest request = request_for(graph_, make_group(graph_, nodes, uses_));
    if (!takes_(request)) return false;
    open_.waiting.resize(open_.nodes.size(), 0);
    open_.waiting.resize(nodes.size() - 1, 1);
    open_.waiting.push_back(0);
    open_.must_hide.resize(nodes.size(), 0);
    open_.must_hide.back() = request.written.size() < nodes.size() && !takes_all_written(std::move(request));
    open_.nodes = std::move(nodes);
    return true;
  }
  [[nodiscard]] bool connected(const Node& node, const std::vector<NodeId>& moved) const {
    const auto comes_later = [&](ValueId input) { return contains(passed_, input) && !contains(moved, graph_.values[input].producer); };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), comes_later)) return false;
    return std::any_of(open_.nodes.begin(), open_.nodes.end(), [&](NodeId member) {
      const Node& other = graph_.nodes[member];
      return std::any_of(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId input) { return input == other.results[0] || contains(other.inputs, input); });
    });
  }

  [[nodiscard]] bool takes_all_written(KernelRequest request) const {
    request.written.clear();
    request.result_types.clear();
    for (std::size_t i = 0; i < request.steps.size(); ++i) {
      request.written.push_back(i);
      request.result_types.push_back(request.steps[i].type);
    }
    return takes_(request);
  }

  template <class T>
  static bool contains(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }

  void close() {
    FusibleGroup group = std::exchange(open_, {});
    passed_.clear();
    if (group.nodes.size() < 2) return;
    for (const NodeId node : group.nodes) taken_[node.index] = 1;
    groups_.push_back(std::move(group));
  }

  const Graph& graph_;
  const DeviceId side_;
  const FusionRule& takes_;
  const std::vector<int> uses_;
  std::vector<char> lone_;   ///< by node: only moves its one operand's elements, has one reader, and waits for it
  std::vector<char> taken_;  ///< by node: in a group that is closed
  FusibleGroup open_;
  std::vector<ValueId> passed_;  ///< made elsewhere since the group was opened
  std::vector<FusibleGroup> groups_;
};

}  // namespace

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes)
    for (const ValueId input : node.inputs) ++uses[input.index];
  for (const Region& region : graph.regions)
    if (region.predicate) ++uses[region.predicate.index];
  for (const Output& output : graph.outputs) ++uses[output.value.index];
  return uses;
}

std::vector<FusibleGroup> find_fusible(const Graph& graph, DeviceId side, const FusionRule& takes) {
  return takes ? GroupSearch(graph, side, takes).run() : std::vector<FusibleGroup>();
}

std::vector<FusibleGroup> parts_of(const FusibleGroup& group, const std::function<bool(NodeId)>& on_side) {
  std::vector<FusibleGroup> parts;
  FusibleGroup open;
  const auto close = [&] {
    while (!open.nodes.empty() && open.waits(open.nodes.size() - 1)) {
      open.nodes.pop_back();
      open.must_hide.pop_back();
      open.waiting.pop_back();
    }
    if (open.nodes.size() > 1) parts.push_back(std::move(open));
    open = {};
  };
  const auto join = [&](std::size_t i) {
    open.nodes.push_back(group.nodes[i]);
    open.must_hide.push_back(group.must_hide[i]);
    open.waiting.push_back(group.waits(i) ? 1 : 0);
  };
  for (std::size_t i = group.pulled; i < group.nodes.size(); ++i) {
    if (!on_side(group.nodes[i])) {
      close();
      continue;
    }
    if (i == group.pulled) {
      for (std::size_t k = 0; k < group.pulled; ++k)
        if (on_side(group.nodes[k])) join(k);
      open.pulled = open.nodes.size();
    }
    if (!open.nodes.empty() || !group.waits(i)) join(i);
  }
  close();
  return parts;
}

FusionGroup make_group(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<int>& uses) {
  FusionGroup group{nodes, {}, {}};
  std::vector<std::pair<ValueId, int>> own;  // results and how often the group itself reads them
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.nodes[id].inputs) {
      const auto found = std::find_if(own.begin(), own.end(), [&](const auto& each) { return each.first == input; });
      if (found != own.end()) {
        ++found->second;
      } else if (std::find(group.inputs.begin(), group.inputs.end(), input) == group.inputs.end()) {
        group.inputs.push_back(input);
      }
    }
    own.emplace_back(graph.nodes[id].results[0], 0);
  }
  for (const auto& [value, reads] : own) {
    if (uses[value.index] > reads || value == own.back().first) group.results.push_back(value);
  }
  return group;
}

KernelRequest request_for(const Graph& graph, const FusionGroup& group) {
  const Node& last = graph.nodes[group.nodes.back()];
  KernelRequest request{group.nodes.back(), last.op, &last.attributes, {}, {}, {}, {}, {}, {}};
  for (const ValueId input : group.inputs) request.input_types.push_back(graph.values[input].type);
  std::vector<ValueId> operands = group.inputs;
  for (const NodeId id : group.nodes) {
    const Node& node = graph.nodes[id];
    FusedStep step{id, node.op, &node.attributes, {}, graph.values[node.results[0]].type};
    for (const ValueId input : node.inputs)
      step.operands.push_back(static_cast<std::size_t>(std::find(operands.begin(), operands.end(), input) - operands.begin()));
    operands.push_back(node.results[0]);
    request.steps.push_back(std::move(step));
  }
  for (const ValueId result : group.results) {
    request.result_types.push_back(graph.values[result].type);
    const auto place = std::find(operands.begin(), operands.end(), result) - operands.begin();
    request.written.push_back(static_cast<std::size_t>(place) - group.inputs.size());
  }
  return request;
}

}  // namespace cleave::planner
