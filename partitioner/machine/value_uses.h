// ValueUses: the position of every node in a Graph's program, and the readers of each value with their positions. Computed once per graph.
// Costs, transfers, split, round trips and reports all use it, so that they agree on positions. Knows no placement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace cleave::planner {

enum class UseKind : std::uint8_t {
  operand,    ///< operand of an operation
  initial,    ///< initial value of a carried node: before its loop
  yielded,    ///< yielded value for a carried node: at the end of the loop's body
  arm,        ///< operand of a merge node: at the end of that arm
  predicate,  ///< predicate of a branch (before it), of a while's condition or of an `until` (at the region's end)
  count,      ///< runtime trip count of a for: before the loop
  output,     ///< output of the program: at its end, on the host
};

/// One use of a value.
struct ValueUse {
  UseKind kind = UseKind::operand;
  NodeId node;                ///< the reader; predicate and count: the control node; output: none
  RegionId region;            ///< where the value must be available
  std::int32_t position = 0;  ///< index of the node of that region before which the value is read; the number of its nodes: at the end

  /// Whether the host performs the use under every placement, since no node does.
  [[nodiscard]] bool host_only() const { return kind == UseKind::output; }
  /// Whether a control node performs the use, on each side that decides control flow itself: the host alone, unless the machine has
  /// `device_loops`.
  [[nodiscard]] bool decides() const { return kind == UseKind::predicate || kind == UseKind::count; }
};

class ValueUses {
 public:
  /// `graph` must outlive this.
  explicit ValueUses(const Graph& graph);
  /// The same with the nodes of each region in the given order.
  ValueUses(const Graph& graph, IdVector<RegionId, std::vector<NodeId>> order);

  /// The nodes of a region, in order.
  [[nodiscard]] const std::vector<NodeId>& nodes(RegionId region) const {
    return order_.empty() ? graph_->regions[region].nodes : order_[region];
  }

  /// Index of a node in its region's list.
  [[nodiscard]] std::int32_t position(NodeId node) const { return position_[node]; }
  /// Numbers of one walk through the program: at a node's begin, at its end after everything inside it, and at a region's entry.
  [[nodiscard]] std::int64_t begin(NodeId node) const { return begin_[node]; }
  [[nodiscard]] std::int64_t end(NodeId node) const { return end_[node]; }
  [[nodiscard]] std::int64_t entry(RegionId region) const { return entry_[region]; }
  [[nodiscard]] std::span<const ValueUse> of(ValueId value) const {
    return {uses_.data() + first_use_[value.index], uses_.data() + first_use_[value.index + 1]};
  }
  /// The position in `region` of the node that contains (`inner`, `position`); `inner` is `region` or a descendant of it.
  [[nodiscard]] std::int32_t position_within(RegionId region, RegionId inner, std::int32_t position) const;
  /// The first position in `region` before which `value` exists; `region` is the value's own or a descendant of it.
  [[nodiscard]] std::int32_t exists_from(ValueId value, RegionId region) const;
  /// The number of the walk at which a use is reached: the begin of the node before which it stands.
  [[nodiscard]] std::int64_t reached(const ValueUse& use) const;
  /// The number of the walk from which on `value` exists in `region`.
  [[nodiscard]] std::int64_t exists_at(ValueId value, RegionId region) const;

 private:
  void walk();
  void collect_uses();

  const Graph* graph_;
  IdVector<RegionId, std::vector<NodeId>> order_;  ///< empty: the program's order
  IdVector<NodeId, std::int32_t> position_;
  IdVector<NodeId, std::int64_t> begin_, end_;
  IdVector<RegionId, std::int64_t> entry_;
  std::vector<std::size_t> first_use_;
  std::vector<ValueUse> uses_;
};

}  // namespace cleave::planner
