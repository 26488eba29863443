// HostFlow: the dataflow through the host's part of a placed program. Its vertices are the operations with a copy on the host and the
// host's carried, merged and state values ("names" in the code); an edge says that one is computed from the other, for a state in the
// previous run. It answers the two questions behind round trips: what is computed from accelerator values, and what accelerator work needs.
// It knows neither the grouping of round trips nor messages.
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
  /// An operation by its node's index, or a carried, merged or state value by the number of nodes plus the value's index.
  using Vertex = std::uint32_t;
  /// A vertex, and the index of a transfer or control node that belongs to it.
  using Link = std::pair<Vertex, std::size_t>;

  /// All arguments must outlive this object.
  HostFlow(const Graph& graph, const ValueUses& uses, const Placement& placement, const Transfers& transfers);

  [[nodiscard]] std::size_t size() const { return graph_.nodes.size() + graph_.values.size(); }
  [[nodiscard]] bool operation(Vertex v) const { return v < graph_.nodes.size(); }
  /// The operation, or the producer of the value.
  [[nodiscard]] NodeId node(Vertex v) const { return operation(v) ? NodeId(v) : graph_.values[value(v)].producer; }
  [[nodiscard]] const Deliveries& deliveries() const { return deliveries_; }

  /// On a path from an accelerator value to accelerator work: computed from the former and needed by the latter.
  [[nodiscard]] bool on_path(Vertex v) const { return from_accelerator(v) && needed(v); }
  [[nodiscard]] bool from_accelerator(Vertex v) const { return from_accelerator_[v] != 0; }
  [[nodiscard]] bool needed(Vertex v) const { return needed_[v] != 0; }
  /// An operation that only the host computes. All other vertices on a path merely connect such operations.
  [[nodiscard]] bool computes(Vertex v) const { return operation(v) && !placement_.has_copy(v, kAccelerator); }
  /// Links of a vertex: the transfers to the host that it reads (arrivals), the transfers of its result to the accelerator (returns), and
  /// the control nodes whose predicate or count it computes (decisions), if they control accelerator work or host work that accelerator
  /// work needs.
  [[nodiscard]] std::span<const Link> arrivals(Vertex v) const { return of(arrivals_, v); }
  [[nodiscard]] std::span<const Link> returns(Vertex v) const { return of(returns_, v); }
  [[nodiscard]] std::span<const Link> decisions(Vertex v) const { return of(decisions_, v); }

  /// Whether accelerator work needs the transferred value: not merely the second copy of a scalar, nor a carried or merged value that is
  /// never read there.
  [[nodiscard]] bool brings_work(std::size_t transfer) const { return brings_work_[transfer] != 0; }

  /// Whether the host decides a loop or branch, so that it waits for the predicate or count.
  [[nodiscard]] bool decided_by_host(NodeId control) const { return on(control, kHost); }
  /// Calls `f(value)` for each predicate and count of a control node.
  template <class F>
  void for_each_decider(NodeId control, F&& f) const;

  /// For an operation with an effect: the next host function in the order of effects whose result accelerator work needs for its data, or
  /// none.
  [[nodiscard]] NodeId delays(NodeId effect) const;

  /// Calls `f(vertex, kind of use)` for each vertex computed from `v` on the host, or for each vertex that `v` is computed from.
  template <class F>
  void for_each_next(Vertex v, F&& f) const;
  template <class F>
  void for_each_previous(Vertex v, F&& f) const;

  /// Calls `f(vertex)` for the vertex that computes `value` on the host, if there is one.
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
  std::map<ValueId, ValueId> next_;                   ///< maps a state's value to its value in the next run
  std::map<ValueId, std::vector<ValueId>> hands_on_;  ///< maps a value to the states whose next value it is
  Marks accelerator_work_;  ///< by vertex, for copies on the accelerator: an operation that only the accelerator computes depends on it
  Marks brings_work_;       ///< by transfer
  Marks from_accelerator_, needed_;
  std::vector<NodeId> effects_;                       ///< host functions with an effect, in program order
  std::vector<NodeId> awaited_;                       ///< those of `effects_` whose results are needed
  std::vector<Link> arrivals_, returns_, decisions_;  ///< each sorted by vertex
};

template <class F>
void HostFlow::for_each_decider(NodeId control, F&& f) const {
  const Node& node = graph_.nodes[control];
  for (const ValueId input : node.inputs) f(input);
  for (const RegionId region : node.regions) {
    if (const ValueId predicate = graph_.regions[region].predicate) f(predicate);
  }
}

/// Calls `f(vertex)` for each value of the carried or merge node that `use` flows into.
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

/// Calls `f(value, kind)` for each value from which result `result` of the carried or merge node `name` is taken.
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
