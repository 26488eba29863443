// ValueUses: where everything stands in a Graph's program, and who reads each value, where and before what. Computed once a graph; costs,
// transfers, split, round trips and reports all read it, so that all of them mean the same place. Knows no placement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace cleave::planner {

enum class UseKind : std::uint8_t {
  operand,    ///< of an operation
  initial,    ///< of a carried node: before its loop begins
  yielded,    ///< of a carried node: at the end of the loop's body
  arm,        ///< of a merge node: at the end of that arm
  predicate,  ///< of a branch (before it), a while's condition or an `until` (at the region's end): where it is decided
  count,      ///< runtime trips of a for: before the loop, where it is decided
  output,     ///< of the program: at its end, on the host
};

/// One reading of a value.
struct ValueUse {
  UseKind kind = UseKind::operand;
  NodeId node;                ///< the reader; predicate and count: the control node; output: none
  RegionId region;            ///< where the value must be available
  std::int32_t position = 0;  ///< before which node of that region; the number of its nodes: at the end

  /// Readings that no node does are the host's whatever the placement.
  [[nodiscard]] bool host_only() const { return kind == UseKind::output; }
  /// Of a control node, which reads on the sides that decide by themselves: the host's, unless the machine has loops of the device.
  [[nodiscard]] bool decides() const { return kind == UseKind::predicate || kind == UseKind::count; }
};

class ValueUses {
 public:
  /// `graph` must outlive this.
  explicit ValueUses(const Graph& graph);
  /// As if the nodes of each region stood in this order.
  ValueUses(const Graph& graph, IdVector<RegionId, std::vector<NodeId>> order);

  /// The nodes of a region, in order.
  [[nodiscard]] const std::vector<NodeId>& nodes(RegionId region) const {
    return order_.empty() ? graph_->regions[region].nodes : order_[region];
  }

  /// Index of a node in its region's list.
  [[nodiscard]] std::int32_t position(NodeId node) const { return position_[node]; }
  /// Numbers of one walk through the program: a node's begin; its end after everything inside it; a region's entry.
  [[nodiscard]] std::int64_t begin(NodeId node) const { return begin_[node]; }
  [[nodiscard]] std::int64_t end(NodeId node) const { return end_[node]; }
  [[nodiscard]] std::int64_t entry(RegionId region) const { return entry_[region]; }
  [[nodiscard]] std::span<const ValueUse> of(ValueId value) const {
    return {uses_.data() + first_use_[value.index], uses_.data() + first_use_[value.index + 1]};
  }
  /// The position in `region` of what contains (`inner`, `position`); `inner` is `region` or below it.
  [[nodiscard]] std::int32_t position_within(RegionId region, RegionId inner, std::int32_t position) const;
  /// The slot (a position before which) from which on `value` exists in `region`, its own or one below.
  [[nodiscard]] std::int32_t exists_from(ValueId value, RegionId region) const;
  /// The number of the walk at which a reading is reached: the begin of the node before which it stands.
  [[nodiscard]] std::int64_t reached(const ValueUse& use) const;
  /// The number of the walk from which on `value` exists in `region`.
  [[nodiscard]] std::int64_t exists_at(ValueId value, RegionId region) const;

 private:
  void walk();
  void collect_uses();

  const Graph* graph_;
  IdVector<RegionId, std::vector<NodeId>> order_;  ///< empty: the program's
  IdVector<NodeId, std::int32_t> position_;
  IdVector<NodeId, std::int64_t> begin_, end_;
  IdVector<RegionId, std::int64_t> entry_;
  std::vector<std::size_t> first_use_;
  std::vector<ValueUse> uses_;
};

}  // namespace cleave::planner
