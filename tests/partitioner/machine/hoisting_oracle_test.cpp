// Exhaustive search on small programs with a loop: every choice of invariant operations before the loop or inside it, every placement and
// every grouping into kernels. None costs less than the lower bound, and nearly always none costs less than the plan.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "partitioner/compile.h"
#include "partitioner/machine/sinking.h"
#include "tests/partitioner/machine/everything.h"
#include "tests/partitioner/machine/fusion_machine.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

/// A loop of a few iterations with up to three operations on values from outside and inside, each of which may be pinned.
Graph program_with_a_loop(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return trace("m", {{"x", "f32[64, 64]"}, {"y", "f32[64, 64]"}, {"row", "f32[64]"}}, [&](Tensor x, Tensor y, Tensor row) {
    std::vector<Tensor> values{y, row, y};
    const auto compute = [&](const Tensor& a, const Tensor& b) {
      switch (random() % 8) {
        case 0: return exp(a);
        case 1: return relu(a);
        case 2: return a + b;
        case 3: return a * b;
        case 4: return tanh(b);
        case 5: return matmul(x, y + a);
        case 6: return transpose(y + a);
        default: return a - b;
      }
    };
    const auto add = [&] {
      const Tensor &a = values[random() % values.size()], &b = values[random() % values.size()];
      if (random() % 6 > 0) return values.push_back(compute(a, b));
      const auto pin = place(random() % 2 ? Device::host : Device::accelerator);
      values.push_back(compute(a, b));
    };
    if (random() % 2) add();
    const std::int64_t trips = 2 + static_cast<std::int64_t>(random() % 4);
    return for_loop(trips, x, [&](Tensor, Tensor carried) {
      for (std::size_t i = 0, count = 1 + random() % 2; i < count; ++i) add();
      values.push_back(carried);
      if (random() % 2) add();
      return values.back() + carried + values[random() % values.size()];
    });
  });
}

/// Every way of sinking operations that can sink, including none and all: an operation can only move along with its readers.
std::vector<std::vector<Sinking>> ways_to_sink(const Graph& graph, const Sinkable& sinkable) {
  std::vector<NodeId> nodes;
  for (const NodeId id : program_order(graph).nodes)
    if (sinkable.into(id).valid()) nodes.push_back(id);
  std::vector<std::vector<Sinking>> ways;
  for (std::uint32_t subset = 0; subset < std::uint32_t{1} << nodes.size(); ++subset) {
    std::vector<Sinking> way;
    IdVector<NodeId, char> moves(graph.nodes.size(), 0);
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (subset >> k & 1) way.push_back({nodes[k], sinkable.into(nodes[k])}), moves[nodes[k]] = 1;
    const auto stays_readable = [&](const Node& reader, NodeId id) {
      const bool reads =
          std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](ValueId value) { return moves[graph.values[value].producer] != 0; });
      return !reads || moves[id] || reader.region != Graph::kRoot;
    };
    bool legal = true;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) legal = legal && stays_readable(graph.nodes[NodeId(i)], NodeId(i));
    if (legal) ways.push_back(std::move(way));
  }
  return ways;
}

TEST(HoistingOracle, NothingCostsLessThanTheBoundWhereverItStands) {
  std::size_t equal = 0, tried = 0, sunk = 0, tight = 0;
  double above = 0, gaps = 0;
  for (std::uint64_t seed = 0; seed < draws(2000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const PlanOptions options = options_by_turns(seed);
    const Graph graph = program_with_a_loop(seed), hoisted = run_passes(graph, options.passes);
    const Plan plan = planner::plan(graph, options);
    ASSERT_TRUE(plan.ok());
    Diagnostics ignored;
    const CostedProblem costed = make_problem(hoisted, options.costs, ignored);
    if (Everything(hoisted, costed, options.costs).size() > 6) continue;
    double least = std::numeric_limits<double>::infinity();
    std::string best;
    bool sinks = false;
    for (const std::vector<Sinking>& way : ways_to_sink(hoisted, Sinkable(hoisted, *costed.uses, costed.frequency))) {
      const Graph moved = sink(hoisted, way);
      const CostedProblem of_moved = make_problem(moved, options.costs, ignored);
      Everything everything(moved, of_moved, options.costs);
      const double seconds = everything.least_seconds(false);
      if (seconds >= least * (1 - 1e-9)) continue;
      least = seconds;
      sinks = !way.empty();
      best = everything.best() + cleave::print(moved);
    }
    const double found = plan.placement.objective_seconds;
    EXPECT_LE(plan.placement.bound_seconds, least * (1 + 1e-9)) << best;
    EXPECT_LE(plan.placement.bound_seconds, found);
    ++tried;
    equal += found <= least * (1 + 1e-9) ? 1 : 0;
    sunk += sinks ? 1 : 0;
    tight += plan.placement.gap < 0.05 ? 1 : 0;
    above = std::max(above, found / least - 1);
    gaps += plan.placement.gap;
    if (HasFailure()) return;
  }
  std::printf(
      "%zu programs, %zu best with something in the loop: %zu plans cost the least, the others at most %.1f %% more; "
      "%zu gaps below 5 %%, mean %.2f %%\n",
      tried, sunk, equal, 100 * above, tight, 100 * gaps / static_cast<double>(tried));
  EXPECT_GT(sunk, tried / 50);
  EXPECT_GE(equal * 100, tried * 98);
}

/// A pin that agrees with the optimal side of an operation changes neither that it is hoisted out of the loop nor that it sinks back.
TEST(HoistingOracle, APinChangesNothing) {
  const auto seconds = [](bool pinned, decltype(PassOptions::disabled) disabled) {
    PlanOptions options = options_by_turns(1);
    options.passes.disabled = std::move(disabled);
    const Plan plan = planner::plan(trace("m", {{"x", "f32[64, 64]"}, {"y", "f32[64, 64]"}},
                                          [&](Tensor x, Tensor y) {
                                            return for_loop(8, x, [&](Tensor, Tensor carried) {
                                              if (!pinned) return tanh(exp(y)) + carried;
                                              const auto pin = place(Device::host);
                                              const Tensor alike = tanh(exp(y));
                                              return alike + carried;
                                            });
                                          }),
                                    options);
    EXPECT_TRUE(plan.ok());
    return plan.placement.objective_seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(false, {}), seconds(true, {}));
  EXPECT_LE(seconds(false, {}), seconds(false, {"hoist-invariant"}));
}

}  // namespace
}  // namespace cleave::testing
