// From graphs to numbers: costs, frequencies, uses, pins with their causes, and the policies.
#include "partitioner/machine/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "partitioner/solver/placement.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using Pin = PlacementProblem::Pin;
using ::testing::HasSubstr;

const Machine kMachine = *Machine::shipped("simulated");

CostedProblem costed(const Graph& graph, Policy policy = Policy::optimal, KernelSupport supported = nullptr, bool has_accelerator = true) {
  EXPECT_TRUE(graph.ok());
  CostModel model{kMachine, std::move(supported), policy, has_accelerator, {}};
  Diagnostics diagnostics;
  CostedProblem result = make_problem(graph, model, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_TRUE(verify(result.problem).ok());
  EXPECT_EQ(result.problem.nodes.size(), graph.nodes.size() + 1);
  EXPECT_EQ(result.problem.values.size(), graph.values.size());
  return result;
}

NodeId find(const Graph& graph, std::string_view op, int skip = 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.op_name(NodeId(i)) == op && skip-- == 0) return NodeId(i);
  }
  ADD_FAILURE() << "no " << op;
  return NodeId(std::size_t{0});
}

const PlacementProblem::Node& node(const CostedProblem& problem, NodeId id) {
  return problem.problem.nodes[id.index];
}

/// Regions of the uses of a node's result `result` by node `by` (the last one: outputs and control).
std::vector<std::int32_t> use_regions(const Graph& graph, const CostedProblem& c, NodeId producer, std::size_t result, std::size_t by) {
  std::vector<std::int32_t> regions;
  for (const auto& use : c.problem.uses) {
    if (use.value == static_cast<std::int32_t>(graph.nodes[producer].results[result].index) && use.node == static_cast<std::int32_t>(by)) {
      regions.push_back(use.region);
    }
  }
  return regions;
}

TEST(Costs, OperationsCostOverheadAndTheSlowerOfArithmeticAndMemory) {
  const Graph graph = trace("m", {{"x", "f32[1000, 1000]"}}, [](Tensor x) { return matmul(x, x) + 1; });
  const CostedProblem c = costed(graph);
  const auto& product = node(c, find(graph, "matmul"));
  EXPECT_NEAR(product.host_seconds, 5e-7 + 2e9 / 1e11, 1e-3);
  EXPECT_NEAR(product.accelerator_seconds, 5e-6 + 2e9 / 1e13, 1e-5);
  EXPECT_TRUE(product.replicable);
  const auto& sum = node(c, find(graph, "add"));
  EXPECT_GE(sum.host_seconds, 5e-7 + 8e6 / 1e10);
  EXPECT_LT(sum.host_seconds, 2e-3);
  const auto& input = node(c, find(graph, "input"));
  EXPECT_EQ(input.pin, Pin::host);
  EXPECT_FALSE(input.replicable);
  EXPECT_EQ(input.host_seconds, 0);
  EXPECT_EQ(c.forced[find(graph, "input").index], Cause::pinned);
  const auto& value = c.problem.values[graph.nodes[find(graph, "matmul")].results[0].index];
  EXPECT_DOUBLE_EQ(value.host_to_accelerator_seconds, 1e-5 + 4e6 / 1.2e10);
  EXPECT_DOUBLE_EQ(value.accelerator_to_host_seconds, 1e-5 + 4e6 / 1.2e10);
}

TEST(Costs, TablesOfTheMachineComeFirst) {
  const Graph graph = trace("m", {{"x", "f32[100, 100]"}}, [](Tensor x) { return matmul(x, x); });
  CostModel model{kMachine, nullptr, Policy::optimal, true, {}};
  model.machine.host.points["matmul/f32"] = {{1e6, 0.25}, {1e9, 250}};
  model.machine.accelerators[0].points["matmul/f64"] = {{1e6, 77}};
  Diagnostics diagnostics;
  const CostedProblem c = make_problem(graph, model, diagnostics);
  EXPECT_NEAR(node(c, find(graph, "matmul")).host_seconds, 0.5, 1e-6);  // 2 * 100^3 flops
  EXPECT_LT(node(c, find(graph, "matmul")).accelerator_seconds, 1);
}

TEST(Costs, ProductsInLessThanF32TakeTheirOwnFigure) {
  const Graph graph = trace("m", {{"x", "f32[1000, 1000]"}}, [](Tensor x) {
    const Tensor of_two = matmul(x, x + 1);  // before the other one: compilers evaluate operands in either order
    return matmul(x, x) + of_two;
  });
  const NodeId first = find(graph, "matmul"), second = find(graph, "matmul", 1);
  CostModel model{kMachine, nullptr, Policy::optimal, true, {}, Precision::bf16, nullptr};
  const auto seconds = [&](NodeId id) {
    Diagnostics diagnostics;
    return node(make_problem(graph, model, diagnostics), id);
  };
  DeviceRates& card = model.machine.accelerators[0];
  const double bytes = 12e6 / 1e12, f32 = 5e-6 + 2e9 / 1e13;
  EXPECT_DOUBLE_EQ(seconds(first).accelerator_seconds, f32) << "no op is said to be computed in it";
  model.in_precision = [&](const Graph&, NodeId id) { return id == first; };
  const double rounding = 2 * 1.5 * 4e6 / 1e12;  // the time to round both operands
  EXPECT_DOUBLE_EQ(seconds(first).accelerator_seconds, rounding + 5e-6 + 2e9 / 1e14);
  EXPECT_DOUBLE_EQ(seconds(first).host_seconds, 5e-7 + 2e9 / 1e11);
  EXPECT_DOUBLE_EQ(seconds(second).accelerator_seconds, f32);
  model.precision = Precision::tf32;
  EXPECT_DOUBLE_EQ(seconds(first).accelerator_seconds, f32) << "the machine has no figure for it";
  card.points["matmul/f32"] = {{1e9, 0.125}};
  EXPECT_DOUBLE_EQ(seconds(first).accelerator_seconds, 0.25) << "the machine has no figure for it";
  card.tf32_flops = 1e20;
  EXPECT_DOUBLE_EQ(seconds(first).accelerator_seconds, 5e-6 + bytes) << "never faster than its memory";
  card.points["matmul/tf32"] = {{2e9, 0.5}};
  EXPECT_DOUBLE_EQ(seconds(first).accelerator_seconds, 0.5);
  EXPECT_DOUBLE_EQ(seconds(second).accelerator_seconds, 0.25);
}

TEST(Costs, ALoopAndABranchAreUsedWhereThePlacementProblemSaysSo) {
  const Graph graph = trace("m", {{"x", "f32[8]"}, {"n", "i32[]"}, {"c", "bool[]"}}, [](Tensor x, Tensor n, Tensor c) {
    return for_loop(n, x,
                    [&](Tensor, Tensor y) {
                      return cond(
                          c, [&] { return y + 1; }, [&] { return y * 2; }, {.probability = 0.25});
                    },
                    {.expect = 40});
  });
  const CostedProblem c = costed(graph);
  const NodeId loop = find(graph, "for"), branch = find(graph, "if"), carried = find(graph, "carried"), merge = find(graph, "merge");
  const auto body = graph.nodes[loop].regions[0], then = graph.nodes[branch].regions[0], otherwise = graph.nodes[branch].regions[1];
  EXPECT_EQ(c.frequency[body], 40);
  EXPECT_EQ(c.frequency[then], 10);
  EXPECT_EQ(c.problem.regions[otherwise.index].frequency, 30);
  const std::size_t outside = graph.nodes.size();
  EXPECT_EQ(c.problem.nodes[outside].pin, Pin::host);
  const NodeId x = find(graph, "input"), n = find(graph, "input", 1), predicate = find(graph, "input", 2);
  EXPECT_THAT(use_regions(graph, c, x, 0, carried.index), ::testing::ElementsAre(0));
  EXPECT_THAT(use_regions(graph, c, n, 0, outside), ::testing::ElementsAre(0));
  EXPECT_THAT(use_regions(graph, c, predicate, 0, outside), ::testing::ElementsAre(body.index));
  EXPECT_THAT(use_regions(graph, c, merge, 0, carried.index), ::testing::ElementsAre(body.index));
  EXPECT_THAT(use_regions(graph, c, carried, 1, outside), ::testing::ElementsAre(0));
  EXPECT_THAT(use_regions(graph, c, find(graph, "add"), 0, merge.index), ::testing::ElementsAre(then.index));
  EXPECT_THAT(use_regions(graph, c, find(graph, "multiply"), 0, merge.index), ::testing::ElementsAre(otherwise.index));
  EXPECT_TRUE(node(c, carried).replicable);
  EXPECT_TRUE(node(c, merge).replicable);
  EXPECT_EQ(node(c, loop).pin, Pin::host);
}

TEST(Costs, AWhileTestsOnTheHostInItsConditionRegion) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) {
    return while_loop([](Tensor y) { return sum(y) > 1; }, x, [](Tensor y) { return y / 2; }, {.expect = 9});
  });
  const CostedProblem c = costed(graph);
  const NodeId loop = find(graph, "while"), carried = find(graph, "carried");
  const auto condition = graph.nodes[loop].regions[0], body = graph.nodes[loop].regions[1];
  EXPECT_EQ(c.frequency[condition], 10);
  EXPECT_EQ(c.frequency[body], 9);
  EXPECT_THAT(use_regions(graph, c, find(graph, "greater"), 0, graph.nodes.size()), ::testing::ElementsAre(condition.index));
  EXPECT_THAT(use_regions(graph, c, find(graph, "divide"), 0, carried.index), ::testing::ElementsAre(body.index));
}

TEST(Costs, EffectsHostFunctionsKernelsAndPinsHaveTheirCause) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) {
    print("x", x);
    Tensor r = host_call(
        "think", {"f32[8]"}, HostOptions{.pure = true, .seconds = 0.25},
        [](std::span<const float> a, std::span<float> b) { std::copy(a.begin(), a.end(), b.begin()); }, x);
    Tensor s = host_call(
        "act", {"f32[8]"}, [](std::span<const float> a, std::span<float> b) { std::copy(a.begin(), a.end(), b.begin()); }, x);
    auto pin = place(Device::host);
    Tensor pinned = exp(x);
    return to_accelerator(pinned) * r + to_host(s) + sin(x);
  });
  const KernelSupport no_sine = [](const Graph& g, NodeId n) { return g.op_name(n) != "sin"; };
  const CostedProblem c = costed(graph, Policy::optimal, no_sine);
  auto cause = [&](std::string_view op, int skip = 0) { return c.forced[find(graph, op, skip).index]; };
  EXPECT_EQ(cause("print"), Cause::effect);
  EXPECT_EQ(cause("host_call"), Cause::no_kernel);
  EXPECT_EQ(cause("host_call", 1), Cause::effect);
  EXPECT_EQ(cause("exp"), Cause::pinned);
  EXPECT_EQ(cause("sin"), Cause::no_kernel);
  EXPECT_EQ(cause("to_host"), Cause::pinned);
  EXPECT_EQ(cause("to_accelerator"), Cause::none);
  EXPECT_EQ(node(c, find(graph, "to_accelerator")).pin, Pin::accelerator);
  EXPECT_EQ(node(c, find(graph, "host_call")).host_seconds, 0.25);
  EXPECT_GT(node(c, find(graph, "host_call", 1)).host_seconds, 0);
  for (const Cause all : {Cause::cheaper, Cause::pinned, Cause::no_kernel, Cause::effect, Cause::memory})
    EXPECT_FALSE(to_string(all).empty());
}

TEST(Costs, ConstantsOfAnySizeAreOnBothSides) {
  const Graph graph = trace("m", {{"x", "f32[3]"}}, [](Tensor x) { return x * 2 + constant(Array::of<float>({3}, {1, 2, 3})); });
  const CostedProblem c = costed(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[NodeId(i)];
    if (n.kind != NodeKind::constant) continue;
    EXPECT_TRUE(node(c, NodeId(i)).replicable);
    EXPECT_EQ(node(c, NodeId(i)).pin, Pin::none);
  }
}

TEST(Costs, AnAcceleratorPinThatCannotBeMetIsAnErrorAtItsLine) {
  const Graph graph = trace("m", {{"x", "f32[8]"}}, [](Tensor x) {
    auto pin = place(Device::accelerator);
    return sort(x);
  });
  const CostModel model{kMachine, [](const Graph& g, NodeId n) { return g.op_name(n) != "sort"; }, Policy::optimal, true, {}};
  Diagnostics diagnostics;
  (void)make_problem(graph, model, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics.begin()->kind, DiagnosticKind::placement);
  EXPECT_THAT(diagnostics.begin()->message, HasSubstr("which has no kernel for it"));
  EXPECT_TRUE(diagnostics.begin()->location == graph.nodes[find(graph, "sort")].location);
  (void)costed(graph, Policy::host, model.supported);  // this policy demands no accelerator kernel
  (void)costed(graph, Policy::optimal, model.supported, false);
}

Graph training_loop() {
  return trace("m", {{"x", "f32[64]"}, {"rate", "f32[]"}}, [](Tensor x, Tensor rate) {
    return for_loop(100, std::tuple(x, rate), [](Tensor i, Tensor w, Tensor r) {
      Tensor next_rate = r * 0.99;
      Tensor norm = sum(w) + 1;
      cond(i % 10 == 0, [&] { print("w", w); });
      cond(norm > 5, [&] { print("norm", norm); });
      return std::tuple(w - w * next_rate + sum(w) / 2, next_rate);
    });
  });
}

TEST(Costs, TheAcceleratorPolicyKeepsEveryOperationThereAndScalarWorkOnBoth) {
  const Graph graph = training_loop();
  const CostedProblem c = costed(graph, Policy::accelerator);
  const auto solved = solve(c.problem);
  ASSERT_TRUE(solved.ok());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[NodeId(i)].kind != NodeKind::operation || graph.op_name(NodeId(i)) == "print") continue;
    EXPECT_TRUE(solved->on_accelerator[i]) << graph.op_name(NodeId(i));
  }
  EXPECT_FALSE(node(c, find(graph, "subtract")).replicable);
  EXPECT_FALSE(node(c, find(graph, "sum")).replicable);
  EXPECT_FALSE(node(c, find(graph, "divide")).replicable);    // a scalar, but it follows from a tensor
  EXPECT_TRUE(node(c, find(graph, "multiply")).replicable);   // the rate follows from scalars alone
  EXPECT_TRUE(node(c, find(graph, "remainder")).replicable);  // so does the counter's predicate
  EXPECT_TRUE(node(c, find(graph, "greater")).replicable);    // a predicate is needed by the host in any case
  EXPECT_TRUE(solved->on_host[find(graph, "remainder").index]);
  EXPECT_TRUE(solved->on_host[find(graph, "equal").index]);
}

TEST(Costs, TheHostPolicyAndAMissingAcceleratorPutEverythingOnTheHost) {
  const Graph graph = training_loop();
  for (const CostedProblem& c : {costed(graph, Policy::host), costed(graph, Policy::optimal, nullptr, false)}) {
    const auto solved = solve(c.problem);
    ASSERT_TRUE(solved.ok());
    EXPECT_THAT(solved->transfers, ::testing::IsEmpty());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) EXPECT_FALSE(solved->on_accelerator[i]);
  }
}

TEST(Profile, RoundTripsThroughAFileAndReplacesExpectations) {
  const Graph graph = trace("m", {{"x", "f32[8]"}},
                            [](Tensor x) { return while_loop([](Tensor y) { return sum(y) > 1; }, x, [](Tensor y) { return y / 2; }); });
  const NodeId loop = find(graph, "while"), division = find(graph, "divide");
  ASSERT_TRUE(graph.nodes[loop].assumed);
  Profile profile;
  profile.expected[to_string(graph.nodes[loop].location)] = 123;
  profile.host_seconds[to_string(graph.nodes[division].location)] = 0.5;
  const std::string path = ::testing::TempDir() + "costs_test_profile.json";
  ASSERT_TRUE(profile.save(path).ok());
  const auto loaded = Profile::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->expected, profile.expected);
  EXPECT_EQ(loaded->host_seconds, profile.host_seconds);
  const Graph observed = apply_profile(graph, *loaded);
  EXPECT_EQ(observed.nodes[loop].expected, 123);
  EXPECT_FALSE(observed.nodes[loop].assumed);
  CostModel model{kMachine, nullptr, Policy::optimal, true, *loaded};
  Diagnostics diagnostics;
  const CostedProblem c = make_problem(observed, model, diagnostics);
  EXPECT_EQ(node(c, division).host_seconds, 0.5);
  EXPECT_EQ(c.frequency[graph.nodes[loop].regions[0]], 124);
}

TEST(Profile, MalformedFilesAreErrors) {
  EXPECT_FALSE(Profile::load("/nonexistent/profile.json").ok());
  const std::string path = ::testing::TempDir() + "costs_test_bad_profile.json";
  for (const char* text :
       {"", "[]", "{}", "{\"cleave_profile\": 3}", "{\"cleave_profile\": 1, \"expected\": 3}",
        "{\"cleave_profile\": 1, \"expected\": {\"a:1:1\": -1}}", "{\"cleave_profile\": 1, \"expected\": {\"a:1:1\": \"x\"}}"}) {
    FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(text, file);
    std::fclose(file);
    EXPECT_FALSE(Profile::load(path).ok()) << text;
  }
}

}  // namespace
}  // namespace cleave::testing
