// Fusion as the planner models it: which operations form a group, and that the part of a group on one device costs as much as one kernel.
#include "partitioner/machine/fusion.h"
#include "graph/passes/dataflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "executor/device/kernel.h"
#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "partitioner/machine/costs.h"
#include "partitioner/machine/fusion_savings.h"
#include "partitioner/solver/placement.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Accepts element-wise operations of one shape, followed by a last one of another kind if its operands have no other reader.
bool takes(const KernelRequest& request) {
  const auto& steps = request.steps;
  const auto plain = [&](const FusedStep& step) { return step.op->elementwise() && step.type.shape == steps[0].type.shape; };
  return std::all_of(steps.begin(), steps.end() - 1, plain) && (plain(steps.back()) || request.result_types.size() == 1);
}

/// The host's fusion rule without matrix products, which read an operand twice if it is given twice.
bool in_rows(const KernelRequest& request) {
  const auto product = [](const FusedStep& step) { return step.op->name == "matmul"; };
  return std::none_of(request.steps.begin(), request.steps.end(), product) && host_fuses(request);
}

std::vector<std::string> groups(const Graph& graph, DeviceId side, const FusionRule& rule = takes) {
  std::vector<std::string> texts;
  for (const FusibleGroup& group : find_fusible(graph, Dataflow(graph), side, rule)) {
    std::string text;
    for (const NodeId node : group.nodes) text += (text.empty() ? "" : " ") + std::string(graph.nodes[node].op->name);
    texts.push_back(text);
  }
  return texts;
}

TEST(FindFusible, PassesOverWhatTheSideNeverRuns) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) {
    const Tensor a = exp(x);
    print("a", a);
    return tanh(a);
  });
  EXPECT_THAT(groups(graph, kAccelerator), ElementsAre("exp tanh"));
}

/// A pin is a part of the placement: it changes how a group is divided, not the group.
TEST(FindFusible, PinsChangeNoGroup) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) {
    const Tensor a = exp(x);
    Tensor b;
    {
      const auto pin = place(Device::host);
      b = sin(a);
    }
    return tanh(a + b);
  });
  EXPECT_THAT(groups(graph, kAccelerator), ElementsAre("exp sin add tanh"));
  EXPECT_THAT(groups(graph, kHost), ElementsAre("exp sin add tanh"));
}

TEST(FindFusible, EndsAtWhatItWouldHaveToWaitFor) {
  const Graph graph = trace("m", {{"x", "f32[8, 8]"}, {"y", "f32[8, 8]"}}, [](Tensor x, Tensor y) {
    const Tensor a = exp(x), b = tanh(y);
    const Tensor product = matmul(a, a);                     // it waits for `a`, and the sum waits for it
    return std::vector<Tensor>{a + product, sin(b), a * b};  // the second is fused with its neighbors, the third with both
  });
  EXPECT_THAT(groups(graph, kAccelerator), ElementsAre("exp tanh sin multiply"));
}

/// Groups can be open at the same time: unrelated statements between their members change nothing.
TEST(FindFusible, SeveralAtOnce) {
  const Graph graph = trace("m", {{"x", "f32[8]"}, {"y", "f32[4]"}}, [](Tensor x, Tensor y) {
    const Tensor a = exp(x), c = exp(y), b = tanh(a), d = sin(c);
    return std::vector<Tensor>{b, d};
  });
  EXPECT_THAT(groups(graph, kAccelerator), ElementsAre("exp tanh", "exp sin"));
}

TEST(FindFusible, NothingWithoutARule) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) { return tanh(exp(x)); });
  EXPECT_THAT(find_fusible(graph, Dataflow(graph), kAccelerator, nullptr), IsEmpty());
}

TEST(FindFusible, RowsOfTheHost) {
  const Graph graph = trace("m", {{"x", "f32[64, 32]"}, {"scale", "f32[32]"}}, [](Tensor x, Tensor scale) {
    const Tensor centred = x - mean(x, {.axis = {{-1}}, .keepdims = true});
    return centred * rsqrt(mean(square(centred), {.axis = {{-1}}, .keepdims = true}) + 1e-5) * scale;
  });
  EXPECT_THAT(groups(graph, kHost, host_fuses), ElementsAre("mean subtract square mean add rsqrt multiply multiply"));
  const Graph rows = trace("m", {{"x", "f32[64, 32]"}, {"y", "f32[64, 32]"}}, [](Tensor x, Tensor y) {
    const Tensor e = exp(x - max(x, {.axis = {{-1}}, .keepdims = true}));
    return std::vector<Tensor>{e / sum(e, {.axis = {{-1}}, .keepdims = true}), sum(x * y, {.axis = {{1}}}), argmin(x - y, {.axis = {{1}}})};
  });
  EXPECT_THAT(groups(rows, kHost, host_fuses), ElementsAre("max subtract exp sum divide multiply sum subtract argmin"));
}

/// The host's groups include a slice or broadcast with one reader in the group. A slice with two readers and a transpose stay outside.
TEST(FindFusible, MovementOfTheHost) {
  const std::vector<std::int64_t> full{64, 32};
  const Graph norm = trace("m", {{"x", "f32[64, 32]"}, {"scale", "f32[32]"}}, [&](Tensor x, Tensor scale) {
    const Tensor centred = x - broadcast_to(mean(x, {.axis = {{-1}}, .keepdims = true}), full);
    return centred * expand_dims(rsqrt(mean(square(centred), {.axis = {{-1}}})), 1) * broadcast_to(scale, full);
  });
  EXPECT_THAT(groups(norm, kHost, host_fuses),
              ElementsAre("mean broadcast_to subtract square mean rsqrt expand_dims multiply broadcast_to multiply"));
  const Graph gate = trace("m", {{"x", "f32[64, 64]"}}, [](Tensor x) {
    const Tensor left = slice(x, {{}, {0, 32}}), right = tanh(slice(x, {{}, {32, 64}}));
    return left * right;
  });
  EXPECT_THAT(groups(gate, kHost, host_fuses), ElementsAre("slice tanh slice multiply"));
  EXPECT_THAT(groups(gate, kAccelerator), ElementsAre("tanh multiply"));
  const Graph shared = trace("m", {{"x", "f32[64, 64]"}}, [](Tensor x) {
    const Tensor part = slice(x, {{}, {0, 32}});
    return std::vector<Tensor>{part * 2.0, exp(part)};
  });
  EXPECT_THAT(groups(shared, kHost, host_fuses), ElementsAre("multiply exp"));
  const Graph transposed = trace("m", {{"x", "f32[64, 64]"}}, [](Tensor x) {
    const Tensor a = exp(x), b = transpose(x);
    return tanh(a) + b;
  });
  EXPECT_THAT(groups(transposed, kHost, host_fuses), ElementsAre("exp tanh add"));
}

/// An operand of `reshape`, which has no kernel, does not prevent the fusion of the other operand's transpose.
TEST(FindFusible, PullsATransposeThoughTheOtherOperandIsReshaped) {
  const Graph graph = trace("m", {{"x", "f32[768]"}, {"w", "f32[50, 768]"}}, [](Tensor x, Tensor w) {
    const Tensor row = reshape(x, {1, 768});
    return matmul(row, transpose(w));
  });
  EXPECT_THAT(groups(graph, kHost, host_fuses), ElementsAre("transpose matmul"));
}

/// A reduction with one reader is not moved to the front of its reader's group, as a slice or transpose would be.
TEST(FindFusible, PullsNoReductions) {
  const Graph graph = trace("m", {{"x", "f32[64, 32]"}, {"y", "f32[64, 64]"}}, [](Tensor x, Tensor y) {
    const Tensor length = sum(x, {.axis = {{1}}});
    const Tensor product = matmul(y, y);
    return length * 2.0 + sum(product, {.axis = {{1}}});
  });
  for (const FusibleGroup& group : find_fusible(graph, Dataflow(graph), kHost, host_fuses)) EXPECT_EQ(group.pulled, 0U);
}

TEST(FindFusible, NotWhatWaitsForALongRow) {
  const Graph graph = trace("m", {{"x", "f32[200000]"}}, [](Tensor x) {
    const Tensor squares = square(x), total = sum(squares) + 1.0;
    return squares / total;
  });
  EXPECT_THAT(groups(graph, kHost, host_fuses), ElementsAre("square sum add"));
}

TEST(PartsOf, RowsWithoutAGap) {
  const auto id = [](std::size_t i) { return NodeId(i); };
  const FusibleGroup group{{id(0), id(1), id(4), id(5), id(6), id(7)}, 2, {1, 1, 1, 0, 0, 0}};
  const auto parts = [&](std::set<std::uint32_t> here) {
    std::vector<std::vector<std::uint32_t>> rows;
    for (const FusibleGroup& part : parts_of(group, [&](NodeId node) { return here.contains(node.index); })) {
      rows.emplace_back();
      for (const NodeId node : part.nodes) rows.back().push_back(node.index);
    }
    return rows;
  };
  using Row = std::vector<std::uint32_t>;
  EXPECT_THAT(parts({0, 1, 4, 5, 6, 7}), ElementsAre(Row{0, 1, 4, 5, 6, 7}));
  EXPECT_THAT(parts({1, 4, 6, 7}), ElementsAre(Row{1, 4}, Row{6, 7}));
  EXPECT_THAT(parts({0, 1, 5, 6}), ElementsAre(Row{5, 6}));
  EXPECT_THAT(parts({0, 1, 5, 7}), IsEmpty());
}

/// An operation that is deferred to its reader is in a part with that reader and an earlier member, or in none.
TEST(PartsOf, NothingWaitsForNobody) {
  const auto id = [](std::size_t i) { return NodeId(i); };
  const FusibleGroup group{{id(0), id(3), id(1), id(4), id(5)}, 0, {0, 0, 0, 1, 0}, {0, 0, 1, 0, 0}};
  const auto parts = [&](std::set<std::uint32_t> here) {
    std::vector<std::vector<std::uint32_t>> rows;
    for (const FusibleGroup& part : parts_of(group, [&](NodeId node) { return here.contains(node.index); })) {
      rows.emplace_back();
      for (const NodeId node : part.nodes) rows.back().push_back(node.index);
    }
    return rows;
  };
  using Row = std::vector<std::uint32_t>;
  EXPECT_THAT(parts({0, 1, 3, 4, 5}), ElementsAre(Row{0, 3, 1, 4, 5}));
  EXPECT_THAT(parts({0, 1, 3, 5}), ElementsAre(Row{0, 3}));
  EXPECT_THAT(parts({1, 4, 5}), ElementsAre(Row{4, 5}));
  EXPECT_THAT(parts({0, 3, 4, 5}), ElementsAre(Row{0, 3}, Row{4, 5}));
}

/// Seconds of one kernel that reads and writes all values of `nodes` except internal ones.
double kernel_seconds(const Graph& graph, const std::vector<NodeId>& nodes, const DeviceRates& rates) {
  const auto inside = [&](NodeId node) { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); };
  std::set<std::uint32_t> moved;
  double bytes = 0;
  for (const NodeId id : nodes) {
    for (const ValueId value : graph.nodes[id].inputs) {
      const auto size = static_cast<double>(graph.values[value].type.bytes());
      if (!inside(graph.values[value].producer) && moved.insert(value.index).second) bytes += size;
    }
  }
  std::set<std::uint32_t> read_outside;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (inside(NodeId(i))) continue;
    for (const ValueId value : graph.nodes[NodeId(i)].inputs) read_outside.insert(value.index);
  }
  for (const Region& region : graph.regions)
    if (region.predicate) read_outside.insert(region.predicate.index);
  for (const Output& output : graph.outputs) read_outside.insert(output.value.index);
  for (const NodeId id : nodes) {
    const ValueId result = graph.nodes[id].results[0];
    if (id == nodes.back() || read_outside.contains(result.index)) bytes += static_cast<double>(graph.values[result].type.bytes());
  }
  return rates.overhead_seconds + bytes / rates.bytes_per_second;
}

double alone_seconds(const Graph& graph, const Node& node, const DeviceRates& rates) {
  double bytes = 0;
  for (const ValueId value : std::set<ValueId>(node.inputs.begin(), node.inputs.end()))
    bytes += static_cast<double>(graph.values[value].type.bytes());
  for (const ValueId value : node.results) bytes += static_cast<double>(graph.values[value].type.bytes());
  return rates.overhead_seconds + bytes / rates.bytes_per_second;
}

/// For every division of a group between the sides: each part costs as much as one kernel with its operands and results.
TEST(FusionSavings, LeaveThePartsOfAGroupTheCostOfOneKernel) {
  CostModel model;
  model.machine = *Machine::shipped("simulated");
  model.machine.host.flops.fill(1e30);
  model.machine.accelerators[0].flops.fill(1e30);
  std::size_t compared = 0, partial = 0, shared = 0;
  for (std::uint64_t seed = 0; seed < draws(900U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions options;
    options.movement = seed % 3 == 2;
    const Graph graph = random_graph(seed / 3, options);
    model.host_fuses = model.accelerator_fuses = seed % 3 == 0 ? FusionRule(takes) : FusionRule(in_rows);
    if (options.movement) model.host_fuses = model.accelerator_fuses = host_fuses;
    Diagnostics diagnostics;
    const CostedProblem costed = make_problem(graph, model, diagnostics);
    ASSERT_TRUE(verify(costed.problem).ok()) << verify(costed.problem).error().message;
    const std::vector<int> uses = count_uses(graph);
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> host, accelerator;
    for (const PlacementProblem::Node& node : costed.problem.nodes) {
      host.push_back(node.pin == PlacementProblem::Pin::host || (node.pin == PlacementProblem::Pin::none && random() % 4 == 0));
      accelerator.push_back(!host.back());
    }
    for (const DeviceId side : {kHost, kAccelerator}) {
      const DeviceRates& rates = side == kHost ? model.machine.host : model.machine.accelerators[0];
      const std::vector<double> seconds = execution_seconds(costed.problem, host, accelerator, side);
      for (const FusibleGroup& group : costed.fusible[side]) {
        for (const FusibleGroup& part : parts_of(group, [&](NodeId id) { return (side == kHost ? host : accelerator)[id.index] != 0; })) {
          double together = 0;
          bool by_traffic = true;  // alone, each costs its memory traffic, and none is unused
          for (const NodeId id : part.nodes) {
            const PlacementProblem::Node& node = costed.problem.nodes[id.index];
            const double cost = side == kHost ? node.host_seconds : node.accelerator_seconds;
            const double expected = alone_seconds(graph, graph.nodes[id], rates);
            by_traffic = by_traffic && std::abs(cost - expected) < 1e-12 * expected && uses[graph.nodes[id].results[0].index] > 0;
            together += seconds[id.index];
          }
          if (!by_traffic) continue;
          EXPECT_NEAR(together, kernel_seconds(graph, part.nodes, rates), 1e-9 * together);
          ++compared;
          partial += part.nodes.size() < group.nodes.size() ? 1 : 0;
          shared += part.nodes.size() > 2 ? 1 : 0;
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 100U);
  EXPECT_GT(partial, 20U);
  EXPECT_GT(shared, 30U);
}

/// The cost of a program's operations as one kernel on the host, where a byte takes the memory a second.
double group_seconds(const Graph& graph, const std::vector<FusionSavings::Seconds>& of) {
  FusibleGroup group;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation) group.nodes.emplace_back(i);
  group.must_hide.resize(group.nodes.size());
  DeviceRates rates;
  FusionSavings savings(graph);
  savings.add(kHost, {group}, rates, [&](NodeId id) {
    return of[static_cast<std::size_t>(std::find(group.nodes.begin(), group.nodes.end(), id) - group.nodes.begin())];
  });
  double seconds = 0;
  for (const FusionSavings::Seconds& each : of) seconds += each.computing + each.spare;
  for (const PlacementProblem::Saving& saving : savings.take()) seconds -= saving.host_seconds;
  return seconds;
}

TEST(FusionSavings, AKernelComputesWhileItWaitsForMemory) {
  const Graph chain = trace("chain", {{"x", "f32[1]"}}, [](const Tensor& x) { return exp(exp(exp(x))); });
  // It is read in 4 s and written in 4 s.
  EXPECT_NEAR(group_seconds(chain, {{1, 7}, {1, 7}, {1, 7}}), 8, 1e-9) << "memory takes longer: reading and writing";
  EXPECT_NEAR(group_seconds(chain, {{2, 6}, {9, 0}, {2, 6}}), 13, 1e-9) << "computing takes longer than reading and writing";
  EXPECT_NEAR(group_seconds(chain, {{2, 6}, {3, 5}, {2, 6}}), 8, 1e-9);
}

TEST(FusionSavings, RowsAreReadBeforeTheyAreWorkedOn) {
  const ReduceOptions rows{.axis = {1}, .keepdims = true};
  const Graph once = trace("once", {{"x", "f32[4, 2]"}}, [&](const Tensor& x) { return sum(exp(exp(x)), rows); });
  const Graph spread = trace("spread", {{"x", "f32[4, 2]"}}, [&](const Tensor& x) { return exp(x - sum(x, rows)); });
  EXPECT_NEAR(group_seconds(once, {{10, 54}, {70, 0}, {10, 38}}), 10 + 70 + 10, 1e-9) << "one pass";
  // 32 s of reading and 32 s of writing, of which the first and last operations compute 5 s each.
  EXPECT_NEAR(group_seconds(spread, {{5, 43}, {20, 0}, {5, 59}}), 5 + 27 + 20 + 5 + 27, 1e-9);
}

TEST(FusionSavings, AProductWithItsOwnTransposeReadsItOnce) {
  const Graph graph = trace("gram", {{"x", TypeSpec(DType::f32, {64, 64})}}, [](const Tensor& x) { return matmul(x, transpose(x)); });
  CostModel model;
  model.machine = *Machine::shipped("simulated");
  model.machine.host.flops.fill(1e30);
  model.host_fuses = [](const KernelRequest&) { return true; };
  Diagnostics diagnostics;
  const CostedProblem costed = make_problem(graph, model, diagnostics);
  ASSERT_EQ(costed.fusible[kHost].size(), 1U);
  double seconds = 0;
  for (const PlacementProblem::Node& node : costed.problem.nodes) seconds += node.host_seconds;
  for (const PlacementProblem::Saving& saving : costed.problem.savings) seconds -= saving.host_seconds;
  const DeviceRates& rates = model.machine.host;
  EXPECT_NEAR(seconds, rates.overhead_seconds + 2 * 64 * 64 * 4 / rates.bytes_per_second, 1e-12) << "one operand and the result";
  EXPECT_TRUE(verify(costed.problem).ok());
}

}  // namespace
}  // namespace cleave::testing
