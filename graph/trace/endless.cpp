#include "graph/trace/endless.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace cleave {
namespace {

constexpr int kMostTrips = 64;
constexpr std::size_t kMostLoopNodes = 1000;
constexpr std::int64_t kMostElements = 64;

using Values = std::map<ValueId, Array>;

bool same(const Array& a, const Array& b) {
  return a.type() == b.type() && std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.type().bytes())) == 0;
}

class Loop {
 public:
  Loop(const Graph& graph, NodeId loop) : graph_(graph), loop_(loop), condition_(graph.regions[graph.nodes[loop].regions[0]].predicate) {}

  [[nodiscard]] bool cannot_end() {
    if (!condition_.valid() || !find_state()) return false;
    std::optional<Values> state = first();
    for (int trip = 0; state && trip < kMostTrips; ++trip) {
      std::optional<Values> next;
      const std::optional<Values> known = computed(*state);
      if (!known || !*known->at(condition_).data<bool>()) return false;
      next = after_a_trip(*known);
      if (next &&
          std::equal(state->begin(), state->end(), next->begin(), [](const auto& a, const auto& b) { return same(a.second, b.second); }))
        return true;
      state = std::move(next);
    }
    return false;
  }

 private:
  [[nodiscard]] bool carried_here(const Node& node) const { return node.kind == NodeKind::carried && node.owner == loop_; }
  [[nodiscard]] bool computable(const Node& node) const {
    if (node.kind == NodeKind::constant) return graph_.values[node.results[0]].type.elements() <= kMostElements;
    return node.kind == NodeKind::operation && node.op->purity_for(node.attributes) == Purity::pure && !node.host_function() &&
           node.results.size() == 1 && graph_.values[node.results[0]].type.elements() <= kMostElements;
  }

  /// Collects the nodes from which the condition is computed, in tracing order, and the carried values that it depends on.
  bool find_state() {
    std::vector<NodeId> pending{graph_.values[condition_].producer};
    std::map<NodeId, bool> seen;
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (!seen.emplace(id, true).second) continue;
      const Node& node = graph_.nodes[id];
      if (seen.size() > kMostLoopNodes || !(carried_here(node) || computable(node))) return false;
      if (carried_here(node)) {
        if (node.inputs.size() < 2 || !node.inputs[1].valid()) return false;  // after a mistake
        carried_.push_back(id);
      } else {
        nodes_.push_back(id);
      }
      for (const ValueId input : node.inputs) pending.push_back(graph_.values[input].producer);
    }
    std::sort(nodes_.begin(), nodes_.end());
    return true;
  }

  bool compute(NodeId id, Values& known) const {
    const Node& node = graph_.nodes[id];
    if (node.kind == NodeKind::constant) return known.insert_or_assign(node.results[0], node.attributes.get<Array>("value")), true;
    std::vector<Array> inputs;
    for (const ValueId input : node.inputs) {
      const auto found = known.find(input);
      if (found == known.end()) return false;
      inputs.push_back(found->second);
    }
    const TensorType& type = graph_.values[node.results[0]].type;
    Array result(type);
    const OpContext context{[](std::string_view) {}};
    if (!node.op->reference({node.attributes, inputs, {&result, 1}, context}).ok() || result.type() != type) return false;
    known.insert_or_assign(node.results[0], std::move(result));
    return true;
  }

  /// Evaluates the initial carried values from the nodes before the loop.
  [[nodiscard]] std::optional<Values> first() const {
    Values known, state;
    for (const NodeId id : nodes_) {
      if (id < loop_) compute(id, known);
    }
    for (const NodeId id : carried_) {
      const Node& node = graph_.nodes[id];
      const auto found = known.find(node.inputs[0]);
      if (found == known.end()) return std::nullopt;
      state.emplace(node.results[0], found->second);
    }
    return state;
  }

  /// Evaluates all collected nodes for one iteration.
  [[nodiscard]] std::optional<Values> computed(const Values& state) const {
    Values known = state;
    for (const NodeId id : nodes_) {
      if (!compute(id, known)) return std::nullopt;
    }
    return known;
  }

  [[nodiscard]] std::optional<Values> after_a_trip(const Values& known) const {
    Values state;
    for (const NodeId id : carried_) state.emplace(graph_.nodes[id].results[0], known.at(graph_.nodes[id].inputs[1]));
    return state;
  }

  const Graph& graph_;
  const NodeId loop_;
  const ValueId condition_;
  std::vector<NodeId> nodes_, carried_;
};

}  // namespace

bool cannot_end(const Graph& graph, NodeId loop) {
  return Loop(graph, loop).cannot_end();
}

}  // namespace cleave
