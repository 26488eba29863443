// Enumerates every placement of a small program and every grouping into kernels, priced as the planner prices them.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel/fusible_op.h"
#include "graph/passes/renumber.h"
#include "partitioner/machine/placed_fusion.h"
#include "partitioner/solver/placement.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

class Everything {
 public:
  /// `costed` must belong to that graph and model; all three must outlive this object.
  Everything(const Graph& graph, const CostedProblem& costed, const CostModel& model)
      : graph_(graph), costed_(costed), model_(model), uses_(count_uses(graph_)) {
    const Dataflow dataflow(graph_);
    for (const RegionId region : program_order(graph_).regions)
      for (const NodeId id : dataflow.order(region))
        if (graph_.nodes[id].kind == NodeKind::operation) operations_.push_back(id);
  }

  [[nodiscard]] std::size_t size() const { return operations_.size(); }

  /// The placement and kernels that gave the last answer.
  [[nodiscard]] const std::string& best() const { return best_; }

  double least_seconds(bool with_copies) {
    least_ = std::numeric_limits<double>::infinity();
    host_.assign(costed_.problem.nodes.size(), 0);
    accelerator_.assign(host_.size(), 0);
    for (std::size_t i = 0; i < host_.size(); ++i) {
      const auto& node = costed_.problem.nodes[i];
      host_[i] = node.pin != PlacementProblem::Pin::accelerator;
      accelerator_[i] = node.pin == PlacementProblem::Pin::accelerator;
    }
    place_from(0, with_copies);
    return least_;
  }

 private:
  using Subset = std::uint32_t;

  void place_from(std::size_t k, bool with_copies) {
    if (k == operations_.size()) return group();
    const std::size_t i = operations_[k].index;
    const auto& node = costed_.problem.nodes[i];
    for (const auto& [on_host, on_accelerator] : {std::pair(1, 0), {0, 1}, {1, 1}}) {
      if ((on_host && node.pin == PlacementProblem::Pin::accelerator) || (on_accelerator && node.pin == PlacementProblem::Pin::host))
        continue;
      if (on_host && on_accelerator && (!with_copies || !node.replicable)) continue;
      host_[i] = static_cast<std::uint8_t>(on_host);
      accelerator_[i] = static_cast<std::uint8_t>(on_accelerator);
      place_from(k + 1, with_copies);
    }
  }

  void group() {
    groups_ = FusibleGroups(2);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {  // constants are free, so each side has its own
      const NodeKind kind = graph_.nodes[NodeId(i)].kind;
      if (kind == NodeKind::constant) host_[i] = accelerator_[i] = 1;
    }
    group_from(kHost, remaining(kHost));
  }
  [[nodiscard]] Subset remaining(DeviceId side) const {
    Subset all = 0;
    for (std::size_t k = 0; k < operations_.size(); ++k) {
      const std::size_t i = operations_[k].index;
      if ((side == kHost ? host_ : accelerator_)[i] && is_fusible(graph_, operations_[k], side)) all |= Subset{1} << k;
    }
    return all;
  }
  /// Enumerates the groupings in which the first remaining node is alone or with any of the others.
  void group_from(DeviceId side, Subset left) {
    if (left == 0) return side == kHost ? group_from(kAccelerator, remaining(kAccelerator)) : price();
    const Subset first = left & (~left + 1), others = left & ~first;
    for (Subset with = others;; with = (with - 1) & others) {
      const Subset one = with | first;
      if (with == 0) {
        group_from(side, others);
        break;
      }
      for (const FusibleGroup& kernel : kernels(side, one)) {
        groups_[side].push_back(kernel);
        group_from(side, left & ~one);
        groups_[side].pop_back();
      }
    }
  }

  /// The subset as one kernel, or as one into which its first operations are fused; none if the side has no such kernel.
  const std::vector<FusibleGroup>& kernels(DeviceId side, Subset subset) {
    const auto [at, is_new] = kernels_.emplace(std::pair(side.index, subset), std::vector<FusibleGroup>());
    if (!is_new) return at->second;
    FusibleGroup group;
    for (std::size_t k = 0; k < operations_.size(); ++k)
      if (subset >> k & 1) group.nodes.push_back(operations_[k]);
    const FusionRule& takes = side == kHost ? model_.host_fuses : model_.accelerator_fuses;
    if (!takes || !is_of_one_region(group.nodes) || !is_connected(group.nodes) ||
        !takes(request_for(graph_, make_group(graph_, group.nodes, uses_))))
      return at->second;
    group.must_hide.assign(group.nodes.size(), 0);
    group.waiting.assign(group.nodes.size(), 0);
    at->second.push_back(group);
    for (group.pulled = 1; group.pulled < group.nodes.size() && is_pulled(group); ++group.pulled) at->second.push_back(group);
    return at->second;
  }
  [[nodiscard]] bool is_pulled(const FusibleGroup& group) const {
    const NodeId reader = group.nodes[group.pulled];
    return std::all_of(group.nodes.begin(), group.nodes.begin() + static_cast<std::ptrdiff_t>(group.pulled), [&](NodeId id) {
      const ValueId made = graph_.nodes[id].results[0];
      const auto& inputs = graph_.nodes[reader].inputs;
      return only_moves(graph_, id) && uses_[made.index] == 1 && std::find(inputs.begin(), inputs.end(), made) != inputs.end();
    });
  }
  [[nodiscard]] bool is_of_one_region(const std::vector<NodeId>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) { return graph_.nodes[id].region == graph_.nodes[nodes[0]].region; });
  }
  /// Whether the nodes are connected by values that one produces and another reads, or that two read.
  [[nodiscard]] bool is_connected(const std::vector<NodeId>& nodes) const {
    const auto share = [&](NodeId a, NodeId b) {
      const Node &x = graph_.nodes[a], &y = graph_.nodes[b];
      const auto reads = [](const Node& node, ValueId value) {
        return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
      };
      return reads(y, x.results[0]) || reads(x, y.results[0]) ||
             std::any_of(x.inputs.begin(), x.inputs.end(), [&](ValueId value) { return reads(y, value); });
    };
    std::vector<NodeId> reached{nodes[0]};
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const NodeId id : nodes)
        if (std::find(reached.begin(), reached.end(), id) == reached.end() && share(reached[i], id)) reached.push_back(id);
    return reached.size() == nodes.size();
  }

  /// A unit of execution: a kernel, an operation, or a loop with its body.
  struct Unit {
    DeviceId side;
    std::vector<NodeId> nodes, inside;  ///< its nodes, and those inside it
    bool done = false;
  };

  /// Whether no two kernels wait for each other: each runs as soon as all its operands are ready.
  [[nodiscard]] bool can_run() const {
    for (std::size_t r = 0; r < graph_.regions.size(); ++r)
      if (!can_run(RegionId(r))) return false;
    return true;
  }
  [[nodiscard]] bool can_run(RegionId region) const {
    std::vector<Unit> units = units_of(region);
    std::vector<std::array<char, 2>> there(graph_.nodes.size(), {1, 1});
    for (const Unit& unit : units) {
      for (const NodeId id : unit.nodes) there[id.index] = {0, 0};
      for (const NodeId id : unit.inside)
        if (graph_.nodes[id].kind == NodeKind::carried) there[id.index] = {0, 0};
    }
    const auto is_there = [&](NodeId maker, DeviceId side) {
      const bool own = (side == kHost ? host_ : accelerator_)[maker.index];
      return there[maker.index][own ? side.index : 1 - side.index] != 0;
    };
    for (bool moved = true; std::exchange(moved, false);) {
      for (Unit& unit : units) {
        if (unit.done) continue;
        const auto of_itself = [&](NodeId id) {
          return std::find(unit.nodes.begin(), unit.nodes.end(), id) != unit.nodes.end() ||
                 std::find(unit.inside.begin(), unit.inside.end(), id) != unit.inside.end();
        };
        const auto ready = [&](NodeId id) {
          return std::all_of(graph_.nodes[id].inputs.begin(), graph_.nodes[id].inputs.end(), [&](ValueId value) {
            const NodeId maker = graph_.values[value].producer;
            return of_itself(maker) || is_there(maker, unit.inside.empty() ? unit.side : kHost);
          });
        };
        if (!std::all_of(unit.nodes.begin(), unit.nodes.end(), ready) || !std::all_of(unit.inside.begin(), unit.inside.end(), ready))
          continue;
        unit.done = moved = true;
        for (const NodeId id : unit.nodes) there[id.index][unit.side.index] = 1;
        for (const NodeId id : unit.inside) there[id.index] = {1, 1};
      }
    }
    return std::all_of(units.begin(), units.end(), [](const Unit& unit) { return unit.done; });
  }
  [[nodiscard]] std::vector<Unit> units_of(RegionId region) const {
    std::vector<Unit> units;
    for (const DeviceId side : {kHost, kAccelerator}) {
      std::vector<char> in_group(graph_.nodes.size(), 0);
      for (const FusibleGroup& group : groups_[side]) {
        for (const NodeId id : group.nodes) in_group[id.index] = 1;
        if (graph_.nodes[group.nodes[0]].region == region) units.push_back({side, group.nodes, {}});
      }
      for (const NodeId id : operations_)
        if (graph_.nodes[id].region == region && !in_group[id.index] && (side == kHost ? host_ : accelerator_)[id.index])
          units.push_back({side, {id}, {}});
    }
    for (const NodeId id : graph_.regions[region].nodes) {
      if (graph_.nodes[id].regions.empty()) continue;
      Unit unit{kHost, {}, {id}};
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        const RegionId own = graph_.nodes[NodeId(i)].region;
        if (own != region && graph_.within(own, region)) unit.inside.push_back(NodeId(i));
      }
      units.push_back(std::move(unit));
    }
    return units;
  }

  void price() {
    if (!can_run()) return;
    const CostedProblem grouped = with_groups(graph_, model_, costed_, groups_);
    const double seconds = evaluate(grouped.problem, host_, accelerator_).objective_seconds;
    if (seconds >= least_) return;
    least_ = seconds;
    best_ = describe();
  }

  /// The current placement and its kernels.
  [[nodiscard]] std::string describe() const {
    std::string text;
    for (const DeviceId side : {kHost, kAccelerator}) {
      text += side == kHost ? "host:" : "accelerator:";
      for (const NodeId id : operations_)
        if ((side == kHost ? host_ : accelerator_)[id.index]) text += " " + std::to_string(id.index);
      for (const FusibleGroup& group : groups_[side]) {
        text += " {";
        for (const NodeId id : group.nodes) text += " " + std::to_string(id.index);
        text += group.pulled ? " } of which pulled " + std::to_string(group.pulled) : " }";
      }
      text += "\n";
    }
    return text;
  }

  const Graph& graph_;
  const CostedProblem& costed_;
  const CostModel& model_;
  const std::vector<int> uses_;
  std::vector<NodeId> operations_;
  std::vector<std::uint8_t> host_, accelerator_;
  FusibleGroups groups_;
  std::map<std::pair<std::size_t, Subset>, std::vector<FusibleGroup>> kernels_;
  double least_ = 0;
  std::string best_;
};

}  // namespace cleave::testing
