// States that persist from run to run, against the reference executor with states passed by hand: results, transfers, runs that fail, and
// resetting.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/executor/state_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

TEST(States, EqualTheOracleThatIsFedByHand) {
  std::size_t all = 0, on_accelerator = 0, on_both = 0;
  for (std::uint64_t seed = 0; seed < draws(seeds(60)) && !HasFailure(); ++seed) {
    StatefulProgram program(seed);
    std::uint64_t variant = seed;
    for (const Where where : {Where::host, Where::accelerator, Where::optimal, Where::random, Where::random}) {
      ++variant;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", variant " + std::to_string(variant) + ", placement " +
                   std::to_string(static_cast<int>(where)));
      const Planned planned = plan_for(program.graph, where, variant);
      ASSERT_THAT(planner::verify(*planned.program), ::testing::IsEmpty());
      ExecutorSetup options = simulated_setup();
      options.check_memory = true;
      options.channel_capacity = 1 + static_cast<int>(variant % 2);
      options.schedule = static_cast<ExecutorOptions::Schedule>(variant % 3);
      options.schedule_seed = variant;
      const std::unique_ptr<Executor> executor = executor_for(planned, options);
      ASSERT_TRUE(executor);
      expect_fed_by_hand(program, *executor, 5);
      for (const GraphState& state : states_of(*program.graph)) {
        const auto lies = [&](DeviceId device) {
          const auto& steps = planned.program->devices[device].blocks[0].steps;
          return std::any_of(steps.begin(), steps.end(),
                             [&](const Step& step) { return step.kind == StepKind::compute && step.node == state.leaf; });
        };
        ++all;
        on_accelerator += lies(kAccelerator);
        on_both += lies(kAccelerator) && lies(kHost);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(all, draws(seeds(60) * 3));
  EXPECT_GT(on_accelerator, draws(seeds(60) / 2));
  EXPECT_TRUE(kSanitized || on_both > 0);
}

/// The cost of the program with each state on a given side (one bit each): the state is an input there, and its next value has a use there.
double cost_with(const PlacementProblem& tied, const std::vector<GraphState>& states, std::size_t on_accelerator) {
  PlacementProblem problem = tied;
  for (PlacementProblem::Node& node : problem.nodes) node.group = PlacementProblem::kNoGroup;
  const auto outside = static_cast<std::int32_t>(problem.nodes.size()) - 1;
  PlacementProblem::Node keeper;
  keeper.pin = PlacementProblem::Pin::accelerator;
  problem.nodes.push_back(keeper);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const bool there = (on_accelerator >> i & 1) != 0;
    PlacementProblem::Node& leaf = problem.nodes[states[i].leaf.index];
    leaf.pin = there ? PlacementProblem::Pin::accelerator : PlacementProblem::Pin::host;
    leaf.replicable = false;
    problem.uses.push_back({static_cast<std::int32_t>(states[i].next.index), there ? outside + 1 : outside, 0});
  }
  return solve(problem)->objective_seconds;
}

/// Whether the program also reads the next value or returns it: then a transfer may move it to the other side in any case.
bool used_besides(const Graph& graph, const GraphState& state) {
  const auto reads = [&](const Node& node) { return std::find(node.inputs.begin(), node.inputs.end(), state.next) != node.inputs.end(); };
  const auto decides = [&](const Region& region) { return region.predicate == state.next; };
  const auto gives = [&](const Output& output) { return output.value == state.next; };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), reads) || std::any_of(graph.regions.begin(), graph.regions.end(), decides) ||
         std::count_if(graph.outputs.begin(), graph.outputs.end(), gives) > 1;
}

TEST(States, CostNoLessOnAnyOtherSideWhereTheNextValueHasNoOtherUse) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < draws(seeds(60) * 50); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StatefulProgram program(seed);
    std::vector<GraphState> states = states_of(*program.graph);
    std::erase_if(states, [](const GraphState& state) { return !state.follows || state.fixed(); });
    if (states.empty()) continue;
    if (std::any_of(states.begin(), states.end(), [&](const GraphState& state) { return used_besides(*program.graph, state); })) continue;
    Diagnostics none;
    const PlacementProblem problem = make_problem(*program.graph, simulated_costs(), none).problem;
    const double tied = solve(problem)->objective_seconds;
    for (std::size_t sides = 0; sides < std::size_t{1} << states.size(); ++sides, ++compared)
      EXPECT_LE(tied, cost_with(problem, states, sides) * (1 + 1e-9)) << sides;
  }
  EXPECT_GT(compared, draws(seeds(60) * 10));
}

constexpr std::int64_t kStateBytes = 512LL * 512 * 4;

/// past' = past @ w + x of 512 x 512 on the accelerator, y = the sum of past'. `check` is called by the host with y.
Graph cache(const std::function<Status(float)>& check = nullptr) {
  Graph graph = trace("cache", {{"past", "f32[512, 512]"}, {"x", "f32[512, 512]"}}, [&](Tensor past, Tensor x) {
    const Tensor present = matmul(past, x) * 0.001 + x;
    const Tensor y = sum(present);
    const auto call = [check](std::span<const float> in, std::span<float> out) -> Status {
      out[0] = in[0];
      return check ? check(in[0]) : Status();
    };
    return std::vector<Tensor>{named("y", host_call("check", {"f32[]"}, call, y)), named("present", present)};
  });
  EXPECT_TRUE(keep_state(graph, "past", "present").ok());
  return graph;
}

Array filled(float value) {
  Array array(TensorType{DType::f32, {512, 512}});
  std::fill_n(array.mutable_data<float>(), 512 * 512, value);
  return array;
}

Executable compiled(const Graph& graph, Policy placement = Policy::optimal) {
  Result<Executable> program = compile(graph, {.device = "simulated", .placement = placement});
  if (!program) ADD_FAILURE() << program.error().message;
  return *program;
}

/// The result of `runs` runs of cache(), which begin with zero and are given 1, 2, … as x.
Array after(int runs) {
  const Graph graph = cache();
  RunOptions options;
  options.inputs = {{"past", filled(0)}};
  for (int i = 1; i <= runs; ++i) {
    options.inputs.insert_or_assign("x", filled(static_cast<float>(i)));
    options.inputs.insert_or_assign("past", *run_reference(graph, options)->output("present"));
  }
  return options.inputs.at("past");
}

TEST(States, AreNotMoved) {
  for (const Policy placement : {Policy::optimal, Policy::accelerator, Policy::host}) {
    const Executable program = compiled(cache(), placement);
    std::map<std::string, Array> inputs = {{"past", filled(0)}};
    for (int i = 1; i <= (kSanitized ? 2 : 4); ++i) {
      inputs.insert_or_assign("x", filled(static_cast<float>(i)));
      const Result<RunResult> result = program.run(inputs);
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(result->host_to_accelerator.bytes, placement == Policy::host ? 0 : kStateBytes) << "x alone, in run " << i;
      EXPECT_EQ(result->accelerator_to_host.bytes, placement == Policy::host ? 0 : 4) << "y alone, in run " << i;
      ASSERT_EQ(result->outputs.size(), 1U);
      EXPECT_EQ(difference(*program.state("past"), after(i), 512 * 512).value_or(""), "");
      inputs.erase("past");
    }
  }
}

TEST(States, AreAsTheyWereAfterARunThatFails) {
  for (const Policy placement : {Policy::accelerator, Policy::host}) {
    const auto fails = std::make_shared<bool>(false);
    const Executable program = compiled(cache([fails](float) { return *fails ? Status(Error{"full"}) : Status(); }), placement);
    ASSERT_TRUE(program.run({{"past", filled(0)}, {"x", filled(1)}}).ok());
    const Array before = *program.state("past");
    *fails = true;
    EXPECT_THAT(program.run({{"x", filled(2)}}).error().message, HasSubstr("full"));
    EXPECT_EQ(*program.state("past"), before);
    EXPECT_THAT(program.run({{"past", filled(7)}, {"x", filled(2)}}).error().message, HasSubstr("full"));
    EXPECT_EQ(*program.state("past"), before);
    EXPECT_FALSE(program.run({{"past", filled(7)}, {"x", Array::scalar(1.0F)}}).ok());
    EXPECT_EQ(*program.state("past"), before);
    *fails = false;
    ASSERT_TRUE(program.run({{"x", filled(2)}}).ok());
    EXPECT_EQ(difference(*program.state("past"), after(2), 512 * 512).value_or(""), "");
  }
}

TEST(States, GoFromRunToRunInTheOrderOfSubmission) {
  const Executable program = compiled(cache(), Policy::accelerator);
  std::vector<cleave::Run> runs;
  runs.push_back(program.submit({{"past", filled(0)}, {"x", filled(1)}}));
  for (int i = 2; i <= 6; ++i) runs.push_back(program.submit({{"x", filled(static_cast<float>(i))}}));
  ASSERT_TRUE(runs.back().wait().ok()) << runs.back().wait().error().message;
  ASSERT_TRUE(program.run({{"x", filled(7)}}).ok());
  EXPECT_EQ(difference(*program.state("past"), after(7), 512 * 512).value_or(""), "");
  EXPECT_THAT(runs[2].get("present").error().message, HasSubstr("no output `present`"));
  EXPECT_TRUE(runs[2].get("y").ok());
}

TEST(States, AreReadAndForgottenBehindTheRunsThatWereSubmitted) {
  const Executable program = compiled(cache(), Policy::accelerator);
  std::vector<cleave::Run> runs;
  runs.push_back(program.submit({{"past", filled(0)}, {"x", filled(1)}}));
  for (int i = 2; i <= 4; ++i) runs.push_back(program.submit({{"x", filled(static_cast<float>(i))}}));
  EXPECT_EQ(difference(*program.state("past"), after(4), 512 * 512).value_or(""), "");
  EXPECT_TRUE(runs.back().ready());
  runs.push_back(program.submit({{"x", filled(5)}}));
  ASSERT_TRUE(program.reset_states().ok());
  EXPECT_TRUE(runs.back().ready());
  EXPECT_FALSE(program.state("past").ok());
}

TEST(States, AreOneForAllThreads) {
  Graph graph = trace("count", {{"n", "i32[]"}}, [](Tensor n) { return std::vector<Tensor>{named("next", n + 1), named("y", n + 0)}; });
  ASSERT_TRUE(keep_state(graph, "n", "next").ok());
  const Executable program = compiled(graph, Policy::host);
  ASSERT_TRUE(program.run({{"n", Array::scalar(std::int32_t{0})}}).ok());
  constexpr int kThreads = 4, kRuns = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&program, t] {
      for (int i = 0; i < kRuns; ++i) {
        if ((t + i) % 2 == 0)
          EXPECT_TRUE(program.run().ok());
        else
          EXPECT_TRUE(program.submit().wait().ok());
        EXPECT_TRUE(program.state("n").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*program.state("n"), Array::scalar(std::int32_t{kThreads * kRuns + 1}));
}

TEST(States, BeginAnew) {
  const Executable program = compiled(cache(), Policy::accelerator);
  EXPECT_THAT(program.state("past").error().message, HasSubstr("has no value before the first run"));
  EXPECT_THAT(program.state("pas").error().message, HasSubstr("has no state `pas`; did you mean `past`?"));
  ASSERT_TRUE(program.run({{"past", filled(3)}, {"x", filled(5)}}).ok());
  ASSERT_TRUE(program.run({{"past", filled(0)}, {"x", filled(1)}}).ok());
  EXPECT_EQ(difference(*program.state("past"), after(1), 512 * 512).value_or(""), "");
  ASSERT_TRUE(program.reset_states().ok());
  EXPECT_THAT(program.state("past").error().message, HasSubstr("has no value before the first run"));
  EXPECT_THAT(program.run({{"x", filled(1)}}).error().message, HasSubstr("`past` (f32[512, 512]) is not given"));
  ASSERT_TRUE(program.run({{"past", filled(0)}, {"x", filled(1)}}).ok());
  EXPECT_EQ(difference(*program.state("past"), after(1), 512 * 512).value_or(""), "");
}

TEST(States, AreNobodyElsesMemory) {
  const Executable program = compiled(cache(), Policy::host);
  Array past = filled(0);
  ASSERT_TRUE(program.run({{"past", past}, {"x", filled(1)}}).ok());
  Array read = *program.state("past");
  std::fill_n(read.mutable_data<float>(), 512 * 512, -1.0F);
  EXPECT_EQ(difference(*program.state("past"), after(1), 512 * 512).value_or(""), "");
  RunOptions options;
  options.inputs = {{"x", filled(2)}};
  options.results = {{"present", filled(0)}};
  EXPECT_THAT(program.run(options).error().message, HasSubstr("has no output `present`"));
}

TEST(States, AreNotTheMemoryThatWasLentToARun) {
  Graph graph = trace("delay", {{"past", "f32[2]"}, {"x", "f32[2]"}, {"w", "f32[2]"}}, [](Tensor past, Tensor x, Tensor w) {
    return std::vector<Tensor>{named("y", past + w), named("present", x), named("same", w)};
  });
  ASSERT_TRUE(keep_state(graph, "past", graph.outputs[1].name).ok());
  ASSERT_TRUE(keep_state(graph, "w", graph.outputs[2].name).ok());
  for (const Policy placement : {Policy::host, Policy::accelerator}) {
    const Executable program = compiled(graph, placement);
    std::array<float, 2> x = {1, 2}, w = {10, 20};
    const TensorType type{DType::f32, {2}};
    ASSERT_TRUE(
        program.run({{"past", Array::of<float>({2}, {0, 0})}, {"x", Array::borrow(type, x.data())}, {"w", Array::borrow(type, w.data())}})
            .ok());
    x = {3, 4};
    w = {0, 0};
    EXPECT_EQ(*program.state("past"), Array::of<float>({2}, {1, 2}));
    EXPECT_EQ(*program.state("w"), Array::of<float>({2}, {10, 20}));
    const Result<RunResult> second = program.run({{"x", Array::borrow(type, x.data())}});
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(*second->output("y"), Array::of<float>({2}, {11, 22}));
  }
}

TEST(States, SwapAndStay) {
  Graph graph = trace("swap", {{"a", "f32[2]"}, {"b", "f32[2]"}, {"c", "f32[2]"}}, [](Tensor a, Tensor b, Tensor c) {
    return std::vector<Tensor>{named("next_a", b), named("next_b", a), named("same", c), named("y", to_accelerator(a) * 2 + c)};
  });
  ASSERT_TRUE(keep_state(graph, "a", graph.outputs[0].name).ok());
  ASSERT_TRUE(keep_state(graph, "b", graph.outputs[1].name).ok());
  ASSERT_TRUE(keep_state(graph, "c", graph.outputs[2].name).ok());
  const Executable program = compiled(graph);
  ASSERT_TRUE(
      program.run({{"a", Array::of<float>({2}, {1, 2})}, {"b", Array::of<float>({2}, {3, 4})}, {"c", Array::of<float>({2}, {5, 6})}}).ok());
  const Result<RunResult> second = program.run();
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(*second->output("y"), Array::of<float>({2}, {11, 14}));
  EXPECT_EQ(*program.state("a"), Array::of<float>({2}, {1, 2}));
  EXPECT_EQ(*program.state("c"), Array::of<float>({2}, {5, 6}));
}

TEST(States, HaveNamesAndOneType) {
  Graph graph = trace("g", {{"a", "f32[2]"}, {"b", "f32[2]"}}, [](Tensor a, Tensor b) {
    return std::vector<Tensor>{named("next", a + b), named("total", sum(a))};
  });
  EXPECT_THAT(keep_state(graph, "c", "next").error().message, HasSubstr("the model has no input `c`"));
  EXPECT_THAT(keep_state(graph, "a", "nex").error().message, HasSubstr("the model has no output `nex`; did you mean `next`?"));
  EXPECT_THAT(keep_state(graph, "a", "total").error().message, HasSubstr("goes in as f32[2] and comes out as f32[]"));
  EXPECT_TRUE(keep_state(graph, "a", "next").ok());
  EXPECT_THAT(keep_state(graph, "b", "next").error().message, HasSubstr("part of another state"));
  EXPECT_THAT(keep_state(graph, "a", "next").error().message, HasSubstr("part of another state"));
}

}  // namespace
}  // namespace cleave::testing
