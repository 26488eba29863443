// Of small programs: every placement, and for each every way of putting what is on one side into kernels. No one costs less than the bound,
// and the plan is among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "executor/device/kernel.h"
#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "partitioner/compile.h"
#include "partitioner/machine/dataflow.h"
#include "partitioner/machine/fusible_op.h"
#include "partitioner/machine/placed_fusion.h"
#include "tests/partitioner/machine/fusion_machine.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using Subset = std::uint32_t;

PlanOptions oracle_options(std::uint64_t seed) {
  PlanOptions options;
  options.costs.machine = slow_link_machine();
  options.costs.host_fuses = seed % 2 ? FusionRule(host_fuses) : FusionRule(elementwise_kernels);
  options.costs.accelerator_fuses = seed % 3 ? FusionRule(elementwise_kernels) : FusionRule(host_fuses);
  options.passes.disabled = {"hoist-invariant"};
  return options;
}

Graph small_program(std::uint64_t seed, std::size_t most) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](const std::vector<Tensor>& from) { return from[random() % from.size()]; };
  return trace("m", {{"x", "f32[64, 64]"}, {"y", "f32[64, 64]"}}, [&](Tensor x, Tensor y) {
    std::vector<Tensor> whole{x, y}, rows, outputs;
    const std::size_t count = 2 + random() % (most - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto compute = [&] {
        switch (random() % 9) {
          case 0: whole.push_back(exp(one_of(whole))); break;
          case 1: whole.push_back(relu(one_of(whole))); break;
          case 2: whole.push_back(one_of(whole) + one_of(whole)); break;
          case 3: whole.push_back(one_of(whole) * one_of(whole)); break;
          case 4: whole.push_back(tanh(one_of(whole))); break;
          case 5: whole.push_back(matmul(one_of(whole), one_of(whole))); break;
          case 6: whole.push_back(transpose(one_of(whole))); break;
          case 7: rows.push_back(sum(one_of(whole), {.axis = {{1}}, .keepdims = true})); break;
          default: rows.empty() ? whole.push_back(one_of(whole) - one_of(whole)) : whole.push_back(one_of(whole) - one_of(rows));
        }
      };
      if (random() % 5 == 0) {
        const auto pin = place(random() % 2 ? Device::host : Device::accelerator);
        compute();
      } else {
        compute();
      }
    }
    for (const std::vector<Tensor>& all : {whole, rows})
      for (std::size_t i = &all == &whole ? 2 : 0; i < all.size(); ++i)
        if (i + 1 == all.size() || random() % 3 == 0) outputs.push_back(all[i]);
    if (outputs.empty()) outputs.push_back(x + y);
    return outputs;
  });
}

/// Tries everything there is.
class Everything {
 public:
  Everything(const Plan& plan, const CostModel& model)
      : graph_(*plan.graph), costed_(plan.costed), model_(model), dataflow_(graph_), uses_(count_uses(graph_)) {
    for (const NodeId id : dataflow_.order(Graph::kRoot))
      if (graph_.nodes[id].kind == NodeKind::operation) operations_.push_back(id);
  }

  [[nodiscard]] std::size_t size() const { return operations_.size(); }

  /// How the last answer is had.
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
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {  // what a side has for nothing, it has
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
  /// The first that is left is alone, or with any of the others.
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

  /// As a kernel, or as one into which the first ones are pulled; none if the side has none.
  const std::vector<FusibleGroup>& kernels(DeviceId side, Subset subset) {
    const auto [at, is_new] = kernels_.emplace(std::pair(side.index, subset), std::vector<FusibleGroup>());
    if (!is_new) return at->second;
    FusibleGroup group;
    for (std::size_t k = 0; k < operations_.size(); ++k)
      if (subset >> k & 1) group.nodes.push_back(operations_[k]);
    const FusionRule& takes = side == kHost ? model_.host_fuses : model_.accelerator_fuses;
    if (!takes || !is_connected(group.nodes) || !takes(request_for(graph_, make_group(graph_, group.nodes, uses_)))) return at->second;
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
  /// By values that one makes and another reads, or that two read.
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

  /// Whether no kernel waits for another that waits for it: each is done as soon as all that it reads is there.
  [[nodiscard]] bool can_run() const {
    struct Unit {
      DeviceId side;
      std::vector<NodeId> nodes;
      bool done = false;
    };
    std::vector<Unit> units;
    for (const DeviceId side : {kHost, kAccelerator}) {
      std::vector<char> in_group(graph_.nodes.size(), 0);
      for (const FusibleGroup& group : groups_[side]) {
        units.push_back({side, group.nodes});
        for (const NodeId id : group.nodes) in_group[id.index] = 1;
      }
      for (const NodeId id : operations_)
        if (!in_group[id.index] && (side == kHost ? host_ : accelerator_)[id.index]) units.push_back({side, {id}});
    }
    std::vector<std::array<char, 2>> there(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[NodeId(i)].kind != NodeKind::operation) there[i] = {1, 1};
    const auto is_there = [&](NodeId maker, DeviceId side) {
      const bool own = (side == kHost ? host_ : accelerator_)[maker.index];
      return there[maker.index][own ? side.index : 1 - side.index] != 0;
    };
    for (bool moved = true; std::exchange(moved, false);) {
      for (Unit& unit : units) {
        if (unit.done) continue;
        const bool ready = std::all_of(unit.nodes.begin(), unit.nodes.end(), [&](NodeId id) {
          return std::all_of(graph_.nodes[id].inputs.begin(), graph_.nodes[id].inputs.end(), [&](ValueId value) {
            const NodeId maker = graph_.values[value].producer;
            return std::find(unit.nodes.begin(), unit.nodes.end(), maker) != unit.nodes.end() || is_there(maker, unit.side);
          });
        });
        if (!ready) continue;
        unit.done = moved = true;
        for (const NodeId id : unit.nodes) there[id.index][unit.side.index] = 1;
      }
    }
    return std::all_of(units.begin(), units.end(), [](const Unit& unit) { return unit.done; });
  }

  void price() {
    if (!can_run()) return;
    const CostedProblem grouped = with_groups(graph_, model_, costed_, groups_);
    const double seconds = evaluate(grouped.problem, host_, accelerator_).objective_seconds;
    if (seconds >= least_) return;
    least_ = seconds;
    best_ = describe();
  }

  /// The placement at hand, and its kernels.
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
  const Dataflow dataflow_;
  const std::vector<int> uses_;
  std::vector<NodeId> operations_;
  std::vector<std::uint8_t> host_, accelerator_;
  FusibleGroups groups_;
  std::map<std::pair<std::size_t, Subset>, std::vector<FusibleGroup>> kernels_;
  double least_ = 0;
  std::string best_;
};

TEST(FusionOracle, NothingCostsLessThanTheBoundAndThePlanIsNearIt) {
  std::size_t equal = 0, tight = 0, tried = 0;
  double above = 0, gaps = 0;
  for (std::uint64_t seed = 0; seed < draws(5000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool with_copies = seed % 4 == 0;
    const Graph graph = small_program(seed, with_copies ? 3 : 5);
    const PlanOptions options = oracle_options(seed);
    const Plan plan = planner::plan(graph, options);
    ASSERT_TRUE(plan.ok());
    Everything everything(plan, options.costs);
    if (everything.size() > 6) continue;
    const double least = everything.least_seconds(with_copies), found = plan.placement.objective_seconds;
    EXPECT_LE(plan.placement.bound_seconds, least * (1 + 1e-9)) << everything.best() << cleave::print(*plan.graph);
    EXPECT_LE(plan.placement.bound_seconds, found);
    if (with_copies) {
      EXPECT_GE(found, least * (1 - 1e-9)) << everything.best() << cleave::print(*plan.graph);
    }
    ++tried;
    equal += found <= least * (1 + 1e-9) ? 1 : 0;
    tight += plan.placement.gap < 0.05 ? 1 : 0;
    above = std::max(above, found / least - 1);
    gaps += plan.placement.gap;
    if (HasFailure()) return;
  }
  RecordProperty("tried", static_cast<int>(tried));
  std::printf("%zu programs: %zu plans cost the least, the others at most %.1f %% more; %zu gaps below 5 %%, mean %.2f %%\n", tried, equal,
              100 * above, tight, 100 * gaps / static_cast<double>(tried));
  EXPECT_GE(equal * 1000, tried * 995);
  EXPECT_LT(above, 0.15);
}

}  // namespace
}  // namespace cleave::testing
