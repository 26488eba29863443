// HostFlow: what flows through the host's part of a placed program. Vertices are operations with a copy on the host, and the values that
// carried and merged names and states have there; an edge stands where one is computed from the other, for a state in the run before. On
// these the two questions of a round trip:
// what is made from accelerator values, and what accelerator work needs. Knows no grouping and no wording.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "partitioner/apply/deliveries.h"
#include "partitioner/apply/transfers.h"
#include "partitioner/machine/value_uses.h"
#include "partitioner/solver/placement.h"

namespace cleave::planner {

class HostFlow {
 public:
  /// An operation by its node's index, or a name's value by the number of nodes plus its own index.
  using Vertex = std::uint32_t;
  using Link = std::pair<Vertex, std::size_t>;

  /// All must outlive it.
  HostFlow(const Graph& graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers);

  [[nodiscard]] std::size_t size() const { return graph_.nodes.size() + graph_.values.size(); }
  [[nodiscard]] bool operation(Vertex v) const { return v < graph_.nodes.size(); }
  /// The operation, or the carried or merge node whose value it is.
  [[nodiscard]] NodeId node(Vertex v) const { return operation(v) ? NodeId(v) : graph_.values[value(v)].producer; }
  [[nodiscard]] const Deliveries& deliveries() const { return deliveries_; }

  /// On the way from an accelerator value to accelerator work: made from the one, and needed by the other.
  [[nodiscard]] bool on_path(Vertex v) const { return from_accelerator(v) && needed(v); }
  [[nodiscard]] bool from_accelerator(Vertex v) const { return from_accelerator_[v] != 0; }
  [[nodiscard]] bool needed(Vertex v) const { return needed_[v] != 0; }
  /// An operation that the host alone computes; all else on a path only connects.
  [[nodiscard]] bool computes(Vertex v) const { return operation(v) && !placement_.has_copy(v, kAccelerator); }
  /// Transfers to the host that a vertex reads; transfers to the accelerator of its result; control nodes that it decides, where
  /// accelerator work or what accelerator work needs is decided there.
  [[nodiscard]] std::span<const Link> arrivals(Vertex v) const { return of(arrivals_, v); }
  [[nodiscard]] std::span<const Link> returns(Vertex v) const { return of(returns_, v); }
  [[nodiscard]] std::span<const Link> decisions(Vertex v) const { return of(decisions_, v); }

  /// Whether accelerator work needs what the transfer brings: more than a scalar's second copy, and more than a name nobody reads there.
  [[nodiscard]] bool brings_work(std::size_t transfer) const { return brings_work_[transfer] != 0; }

  /// Whether the host decides a loop or branch, so that it waits for what decides there.
  [[nodiscard]] bool decided_by_host(NodeId control) const { return on(control, kHost); }
  /// `f(value)` for each predicate and count of a control node.
  template <class F>
  void for_each_decider(NodeId control, F&& f) const;

  /// Of an operation with an effect: the next host function by the order of effects whose result accelerator work needs for itself; none.
  [[nodiscard]] NodeId delays(NodeId effect) const;

  /// `f(vertex, kind of reading)` for what is computed from it on the host, and for what it is computed from.
  template <class F>
  void for_each_next(Vertex v, F&& f) const;
  template <class F>
  void for_each_previous(Vertex v, F&& f) const;

  /// `f(vertex)` of what computes `value` on the host, if anything does.
  template <class F>
  void with_source(ValueId value, F&& f) const;

 private:
  using Marks = std::vector<std::uint8_t>;

  [[nodiscard]] ValueId value(Vertex v) const { return ValueId(v - graph_.nodes.size()); }
  [[nodiscard]] Vertex vertex(ValueId value) const { return static_cast<Vertex>(graph_.nodes.size() + value.index); }
  [[nodiscard]] bool on(NodeId node, DeviceId device) const { return placement_.has_copy(node.index, device); }
  static std::span<const Link> of(const std::vector<Link>& links, Vertex v);
  template <class F>
  void for_each_target(const ValueUse& use, F&& f) const;
  template <class F>
  void for_each_source(NodeId name, std::uint32_t result, F&& f) const;
  [[nodiscard]] bool passes_initial(NodeId carried) const;
  void find_states();
  void find_accelerator_work();
  [[nodiscard]] bool works_on_accelerator(NodeId node) const;
  [[nodiscard]] bool is_accelerator_work(const ValueUse& use) const;
  void find_arrivals();
  void find_returns();
  void spread_forward();
  void find_needs();
  class Needs;

  const Graph& graph_;
  const ValueUses& uses_;
  const Placement& placement_;
  const Transfers& transfers_;
  const Deliveries deliveries_;
  std::map<ValueId, ValueId> next_;                   ///< by a state's value: what it is in the next run
  std::map<ValueId, std::vector<ValueId>> hands_on_;  ///< by that value: the states that it is the next value of
  Marks accelerator_work_;  ///< by vertex, of the accelerator's copies: an operation only there is computed from it
  Marks brings_work_;       ///< by transfer
  Marks from_accelerator_, needed_;
  std::vector<NodeId> effects_;                       ///< host functions that have one, in program order
  std::vector<NodeId> awaited_;                       ///< those of them that are needed for their results
  std::vector<Link> arrivals_, returns_, decisions_;  ///< sorted
};

template <class F>
void HostFlow::for_each_decider(NodeId control, F&& f) const {
  const Node& node = graph_.nodes[control];
  for (const ValueId input : node.inputs) f(input);
  for (const RegionId region : node.regions) {
    if (const ValueId predicate = graph_.regions[region].predicate) f(predicate);
  }
}

/// The readings of a carried or merged name that `use` reaches there: `f(vertex)`.
template <class F>
void HostFlow::for_each_target(const ValueUse& use, F&& f) const {
  const Node& reader = graph_.nodes[use.node];
  switch (use.kind) {
    case UseKind::operand: return f(static_cast<Vertex>(use.node.index));
    case UseKind::initial:
      f(vertex(reader.results[0]));
      if (passes_initial(use.node)) f(vertex(reader.results[1]));
      return;
    case UseKind::yielded: f(vertex(reader.results[0])); return f(vertex(reader.results[1]));
    case UseKind::arm: return f(vertex(reader.results[0]));
    default: return;
  }
}

/// `f(value, kind)` for what result `result` of a name comes from.
template <class F>
void HostFlow::for_each_source(NodeId name, std::uint32_t result, F&& f) const {
  const Node& of = graph_.nodes[name];
  if (of.kind == NodeKind::merge) {
    for (const ValueId arm : of.inputs) f(arm, UseKind::arm);
    return;
  }
  if (result == 0 || passes_initial(name)) f(of.inputs[0], UseKind::initial);
  f(of.inputs[1], UseKind::yielded);
}

template <class F>
void HostFlow::with_source(ValueId value, F&& f) const {
  const NodeId producer = graph_.values[value].producer;
  if (!on(producer, kHost)) return;
  switch (graph_.nodes[producer].kind) {
    case NodeKind::operation: return f(static_cast<Vertex>(producer.index));
    case NodeKind::carried:
    case NodeKind::merge: return f(vertex(value));
    default:  // other leaves and counters are computed from nothing
      if (next_.contains(value)) f(vertex(value));
  }
}

template <class F>
void HostFlow::for_each_next(Vertex v, F&& f) const {
  const auto readers = [&](ValueId value) {
    for (const ValueUse& use : uses_.of(value)) {
      if (!use.host_only() && on(use.node, kHost)) for_each_target(use, [&](Vertex next) { f(next, use.kind); });
    }
    if (const auto states = hands_on_.find(value); states != hands_on_.end())
      for (const ValueId state : states->second) f(vertex(state), UseKind::yielded);
  };
  if (!operation(v)) return readers(value(v));
  for (const ValueId result : graph_.nodes[NodeId(v)].results) readers(result);
}

template <class F>
void HostFlow::for_each_previous(Vertex v, F&& f) const {
  if (operation(v)) {
    for (const ValueId input : graph_.nodes[NodeId(v)].inputs) with_source(input, [&](Vertex previous) { f(previous, UseKind::operand); });
    return;
  }
  if (const auto next = next_.find(value(v)); next != next_.end())
    return with_source(next->second, [&](Vertex previous) { f(previous, UseKind::yielded); });
  for_each_source(node(v), graph_.values[value(v)].result,
                  [&](ValueId from, UseKind kind) { with_source(from, [&](Vertex previous) { f(previous, kind); }); });
}

}  // namespace cleave::planner
