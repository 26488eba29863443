#include "partitioner/machine/value_uses.h"

#include <limits>
#include <utility>

#include "graph/states.h"

namespace cleave::planner {
namespace {

/// Calls `f(value, use)` for every use in the graph, in program order of the node table.
template <class F>
void for_each_use(const Graph& graph, const ValueUses& uses, F&& f) {
  const auto end_of = [&](RegionId r) { return static_cast<std::int32_t>(graph.regions[r].nodes.size()); };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    switch (node.kind) {
      case NodeKind::carried: {
        const Node& loop = graph.nodes[node.owner];
        const RegionId body = loop.regions.back();
        f(node.inputs[0], ValueUse{UseKind::initial, id, loop.region, uses.position(node.owner)});
        f(node.inputs[1], ValueUse{UseKind::yielded, id, body, end_of(body)});
        break;
      }
      case NodeKind::merge:
        for (std::size_t arm = 0; arm < 2; ++arm) {
          const RegionId region = graph.nodes[node.owner].regions[arm];
          f(node.inputs[arm], ValueUse{UseKind::arm, id, region, end_of(region)});
        }
        break;
      default: {
        const UseKind kind = node.kind == NodeKind::branch     ? UseKind::predicate
                             : node.kind == NodeKind::for_loop ? UseKind::count
                                                               : UseKind::operand;
        for (ValueId value : node.inputs) f(value, ValueUse{kind, id, node.region, uses.position(id)});
      }
    }
  }
  for (std::size_t i = 0; i < graph.regions.size(); ++i) {
    const Region& region = graph.regions[RegionId(i)];
    if (region.predicate) f(region.predicate, ValueUse{UseKind::predicate, region.owner, RegionId(i), end_of(RegionId(i))});
  }
  const std::vector<bool> followed = followed_outputs(graph);  // next values of followed states stay where they are produced
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (!followed[i]) f(graph.outputs[i].value, ValueUse{UseKind::output, NodeId(), Graph::kRoot, end_of(Graph::kRoot)});
}

bool is_after(const Graph& graph, ValueId value) {
  return graph.values[value].result == 1 && graph.producer(value).kind == NodeKind::carried;
}

}  // namespace

ValueUses::ValueUses(const Graph& graph) : ValueUses(graph, {}) {}

ValueUses::ValueUses(const Graph& graph, IdVector<RegionId, std::vector<NodeId>> order)
    : graph_(&graph),
      order_(std::move(order)),
      position_(graph.nodes.size()),
      begin_(graph.nodes.size()),
      end_(graph.nodes.size()),
      entry_(graph.regions.size()) {
  walk();
  collect_uses();
}

void ValueUses::walk() {
  struct Frame {
    RegionId region;
    std::size_t next = 0;
    NodeId closes;  ///< the control node that ends with this region
  };
  std::int64_t clock = 0;
  std::vector<Frame> stack{{Graph::kRoot, 0, NodeId()}};
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const std::vector<NodeId>& nodes = this->nodes(frame.region);
    if (frame.next == 0) entry_[frame.region] = clock++;
    if (frame.next == nodes.size()) {
      if (frame.closes) end_[frame.closes] = clock++;
      stack.pop_back();
      continue;
    }
    const NodeId id = nodes[frame.next];
    position_[id] = static_cast<std::int32_t>(frame.next++);
    begin_[id] = end_[id] = clock++;
    const auto& inner = graph_->nodes[id].regions;
    for (std::size_t k = inner.size(); k-- > 0;) stack.push_back({inner[k], 0, k + 1 == inner.size() ? id : NodeId()});
  }
}

void ValueUses::collect_uses() {
  first_use_.assign(graph_->values.size() + 1, 0);
  for_each_use(*graph_, *this, [&](ValueId value, const ValueUse&) { ++first_use_[value.index + 1]; });
  for (std::size_t i = 1; i < first_use_.size(); ++i) first_use_[i] += first_use_[i - 1];
  uses_.resize(first_use_.back());
  std::vector<std::size_t> next(first_use_.begin(), first_use_.end() - 1);
  for_each_use(*graph_, *this, [&](ValueId value, const ValueUse& use) { uses_[next[value.index]++] = use; });
}

std::int32_t ValueUses::position_within(RegionId region, RegionId inner, std::int32_t position) const {
  while (inner != region) {
    const Region& r = graph_->regions[inner];
    // A while's body follows its condition: seen from the condition region it begins at the end.
    position = r.kind == RegionKind::while_body ? static_cast<std::int32_t>(graph_->regions[r.parent].nodes.size()) : position_[r.owner];
    inner = r.parent;
  }
  return position;
}

std::int32_t ValueUses::exists_from(ValueId value, RegionId region) const {
  const Value& v = graph_->values[value];
  if (v.region != region) return 0;
  return position_[is_after(*graph_, value) ? graph_->nodes[v.producer].owner : v.producer] + 1;
}

std::int64_t ValueUses::reached(const ValueUse& use) const {
  const std::vector<NodeId>& nodes = this->nodes(use.region);
  if (static_cast<std::size_t>(use.position) < nodes.size()) return begin_[nodes[static_cast<std::size_t>(use.position)]];
  const Region& region = graph_->regions[use.region];
  return region.owner ? end_[region.owner] : std::numeric_limits<std::int64_t>::max();
}

std::int64_t ValueUses::exists_at(ValueId value, RegionId region) const {
  const Value& v = graph_->values[value];
  if (v.region != region) return entry_[region];
  return is_after(*graph_, value) ? end_[graph_->nodes[v.producer].owner] : end_[v.producer];
}

}  // namespace cleave::planner
