// Loops and branches whose conditions the accelerator evaluates itself (`control_flow: device_loops`): which device executes which region,
// values that are no longer sent, and unchanged results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "executor/check/reference.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "partitioner/apply/split.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_loops.h"
#include "tests/support/seeds.h"
#include "tests/support/sequential_program.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;

PlanOptions with_control(const std::string& control_flow) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.machine.accelerators[0].control_flow = control_flow;
  return options;
}

/// A loop that ends when the iterate no longer changes; `each_trip` is called in its body.
template <class F>
Graph iteration(F&& each_trip) {
  return trace("iteration", {{"a", "f32[512, 512]"}, {"x", "f32[512, 512]"}}, [&](Tensor a, Tensor x) {
    return while_loop([](Tensor, Tensor change) { return change > 1e-3; }, std::tuple(x, Tensor(1.0F)),
                      [&](Tensor v, Tensor) {
                        const Tensor next = tanh(matmul(a, v)) * 0.5;
                        each_trip(next);
                        return std::tuple(next, sum(abs(next - v)));
                      });
  });
}

const Step* control_step(const Program& program, DeviceId device) {
  for (const Block& block : program.devices[device].blocks)
    for (const Step& step : block.steps)
      if (is_control(program.graph->nodes[step.node].kind) && step.kind != StepKind::send && step.kind != StepKind::receive) return &step;
  return nullptr;
}

TEST(DeviceLoops, ALoopWhoseConditionIsTheAcceleratorsNeedsNoHost) {
  const Graph graph = iteration([](const Tensor&) {});
  const Plan driven = plan(graph, with_control("none")), alone = plan(graph, with_control("device_loops"));
  ASSERT_TRUE(driven.ok());
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(alone.diagnostics.empty());
  ASSERT_NE(control_step(driven.program, kHost), nullptr);
  EXPECT_TRUE(control_step(driven.program, kHost)->drives_others);
  EXPECT_EQ(control_step(alone.program, kHost), nullptr);
  ASSERT_NE(control_step(alone.program, kAccelerator), nullptr);
  EXPECT_TRUE(control_step(alone.program, kAccelerator)->by_itself);
  const auto in_loops = [](const Plan& plan) {
    return std::count_if(plan.transfers.items.begin(), plan.transfers.items.end(),
                         [](const Transfer& t) { return t.region != Graph::kRoot; });
  };
  EXPECT_EQ(in_loops(driven), 1);
  EXPECT_EQ(in_loops(alone), 0);
  EXPECT_EQ(alone.placement.gap, 0);
  EXPECT_LT(alone.placement.objective_seconds, driven.placement.objective_seconds);
  EXPECT_LT(alone.predicted_seconds, driven.predicted_seconds);
  EXPECT_THAT(verify(alone.program), IsEmpty());
}

TEST(DeviceLoops, HostWorkInsideBringsTheHost) {
  const Graph graph = iteration([](const Tensor& next) { print("sum", sum(next)); });
  const Plan plan = planner::plan(graph, with_control("device_loops"));
  ASSERT_TRUE(plan.ok());
  ASSERT_NE(control_step(plan.program, kHost), nullptr);
  EXPECT_TRUE(control_step(plan.program, kHost)->drives_others);
  EXPECT_FALSE(control_step(plan.program, kAccelerator)->by_itself);
  EXPECT_THAT(verify(plan.program), IsEmpty());
}

/// A large host value that a branch on the accelerator needs in one of a hundred runs: either it is sent before, or the predicate is
/// fetched.
TEST(DeviceLoops, WhatABranchNeedsFromTheHostIsSentBeforeOrTheHostIsTold) {
  for (const int rows : {1, 4096}) {
    SCOPED_TRACE(rows);
    const std::string type = "f32[" + std::to_string(rows) + ", 512]";
    const Graph graph = trace("branch", {{"a", "f32[512, 512]"}, {"x", "f32[512, 512]"}, {"y", type}}, [](Tensor a, Tensor x, Tensor y) {
      const Tensor made = matmul(a, x);
      const Tensor taken = sum(made) > 0;
      const Tensor result = cond(
          taken, [&] { return made * sum(matmul(y, made)); }, [&] { return made * 1.0F; }, {.probability = 0.01});
      return sum(matmul(result, a));
    });
    ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
    const Plan plan = planner::plan(graph, with_control("device_loops"));
    ASSERT_TRUE(plan.ok());
    EXPECT_THAT(verify(plan.program), IsEmpty());
    const Step* step = control_step(plan.program, kAccelerator);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->by_itself, rows == 1);
    EXPECT_GT(plan.placement.gap, 0);
    EXPECT_LT(plan.placement.bound_seconds, plan.placement.objective_seconds);
  }
}

/// A random placement that the pins allow, with the drivers that it needs.
Placement any_placement(const PlacementProblem& problem, std::mt19937_64& random) {
  std::vector<std::uint8_t> host(problem.nodes.size()), accelerator(problem.nodes.size());
  const auto mostly = random() % 3;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const PlacementProblem::Node& node = problem.nodes[i];
    const auto choice = mostly == 0 ? random() % 4 : random() % 16 == 0 ? 0 : 2;
    accelerator[i] = node.pin == PlacementProblem::Pin::accelerator || (node.pin == PlacementProblem::Pin::none && choice != 0);
    host[i] = !accelerator[i] || (node.replicable && choice == 1);
  }
  return evaluate(problem, host, accelerator);
}

void expect_same_results(const std::shared_ptr<const Graph>& graph, std::uint64_t seed, int& alone) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  CostModel model = with_control("device_loops").costs;
  Diagnostics diagnostics;
  const CostedProblem costed = make_problem(*graph, model, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors());
  std::mt19937_64 random(seed);
  const Placement placement = seed % 4 == 0 ? *solve(costed.problem) : any_placement(costed.problem, random);
  ASSERT_THAT(verify(costed.problem, placement), IsEmpty());
  const Transfers transfers = make_transfers(*graph, costed, placement);
  const Program program = split(graph, *costed.uses, placement, transfers, kAllAhead, costed.fusible);
  ASSERT_THAT(verify(program), IsEmpty()) << print(program);
  for (const Block& block : program.devices[kAccelerator].blocks)
    for (const Step& step : block.steps) alone += step.by_itself;
  RunOptions options;
  options.inputs = random_inputs(*graph, seed);
  options.print = [](std::string_view) {};
  const Result<RunResult> expected = run_reference(*graph, options);
  const Result<SequentialRun> run = run_sequentially(program, options);
  ASSERT_EQ(run.ok(), expected.ok());
  if (!run.ok()) return;
  EXPECT_THAT(run->complaints, IsEmpty());
  for (std::size_t i = 0; i < run->outputs.size(); ++i) EXPECT_TRUE(run->outputs[i] == expected->outputs[i].second);
}

TEST(DeviceLoops, RandomProgramsMeanTheSame) {
  int alone = 0;
  for (std::uint64_t seed = 0; seed < draws(400U) && !HasFailure(); ++seed) {
    RandomGraphOptions options;
    options.effects = seed % 3 == 0;
    options.host_functions = seed % 3 == 0;
    expect_same_results(std::make_shared<const Graph>(random_graph(seed, options)), seed, alone);
  }
  for (std::uint64_t seed = 0; seed < draws(200U) && !HasFailure(); ++seed)
    expect_same_results(std::make_shared<const Graph>(RandomLoops(seed).make()), seed, alone);
  EXPECT_GT(alone, draws(100));
}

}  // namespace
}  // namespace cleave::testing
