#include "partitioner/machine/reuse.h"

#include <algorithm>
#include <utility>

namespace cleave::planner {
namespace {

bool is_arm(RegionKind kind) {
  return kind == RegionKind::then_arm || kind == RegionKind::else_arm;
}

/// Walks the regions twice, inner ones first: finds the bytes that each region touches, then when each value was last touched.
class Walk {
 public:
  explicit Walk(const Graph& graph)
      : graph_(graph), touched_(graph.regions.size(), 0), seen_in_(graph.values.size()), last_(graph.values.size(), 0) {
    for (std::size_t i = graph.regions.size(); i-- > 0;) add_up(RegionId(i));
  }

  /// Calls `each(node, bytes, distance)` once for every pair of operation and value.
  template <class Each>
  void all(const Each& each) {
    seen_in_ = IdVector<ValueId, RegionId>(graph_.values.size());
    for (std::size_t i = 0; i < graph_.regions.size(); ++i) {
      double clock = 0;
      const RegionId region{i};
      const double around = round(region);
      for (const NodeId id : graph_.regions[region].nodes) {
        clock += inside(id);
        values_of(graph_.nodes[id], [&](ValueId value) { clock += bytes(value); });
        values_of(graph_.nodes[id], [&](ValueId value) {
          const bool known = seen_in_[value] == region;
          each(id, bytes(value), known ? std::min(around, clock - last_[value]) : around);
          seen_in_[value] = region;
          last_[value] = clock;
        });
      }
    }
  }

 private:
  [[nodiscard]] double bytes(ValueId value) const { return static_cast<double>(graph_.values[value].type.bytes()); }

  template <class Each>
  static void values_of(const Node& node, const Each& each) {
    if (node.kind != NodeKind::operation) return;
    for (auto value = node.inputs.begin(); value != node.inputs.end(); ++value)
      if (std::find(node.inputs.begin(), value, *value) == value) each(*value);
    for (const ValueId value : node.results) each(value);
  }

  /// Bytes touched by the regions of a control node.
  [[nodiscard]] double inside(NodeId id) const {
    double sum = 0;
    for (const RegionId region : graph_.nodes[id].regions) sum += touched_[region];
    return sum;
  }

  void add_up(RegionId region) {
    for (const NodeId id : graph_.regions[region].nodes) {
      touched_[region] += inside(id);
      values_of(graph_.nodes[id], [&](ValueId value) {
        if (seen_in_[value] != region) touched_[region] += bytes(value);
        seen_in_[value] = region;
      });
    }
  }

  /// Bytes touched by one iteration of the nearest loop, or by a run outside of loops.
  [[nodiscard]] double round(RegionId region) const {
    while (is_arm(graph_.regions[region].kind)) region = graph_.regions[region].parent;
    return region == Graph::kRoot ? touched_[region] : inside(graph_.regions[region].owner);
  }

  const Graph& graph_;
  IdVector<RegionId, double> touched_;
  IdVector<ValueId, RegionId> seen_in_;  ///< by value: the last region that touched it
  IdVector<ValueId, double> last_;       ///< by value: bytes that this region had touched before
};

}  // namespace

Reuse::Reuse(const Graph& graph) : start_(graph.nodes.size() + 1, 0) {
  std::vector<std::pair<std::uint32_t, Operand>> all;
  Walk(graph).all([&](NodeId node, double bytes, double distance) {
    all.push_back({node.index, {bytes, distance}});
    ++start_[node.index + std::size_t{1}];
  });
  for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
  operands_.resize(all.size());
  std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
  for (const auto& [node, operand] : all) operands_[next[node]++] = operand;
}

std::vector<Reuse::Operand> Reuse::of(NodeId node) const {
  return {operands_.begin() + start_[node.index], operands_.begin() + start_[node.index + std::size_t{1}]};
}

}  // namespace cleave::planner
