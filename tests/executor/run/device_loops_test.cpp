// Loops and branches whose conditions the simulated accelerator evaluates itself: results, observations, and the virtual clock.
#include <gmock/gmock.h>

#include "partitioner/apply/predict.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_loops.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

CostModel with_device_loops() {
  CostModel model = simulated_costs();
  model.machine.accelerators[0].control_flow = "device_loops";
  return model;
}

TEST(DeviceLoops, RandomProgramsEqualTheReference) {
  for (std::uint64_t seed = 0; seed < draws(60U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    for (const Where where : {Where::accelerator, Where::optimal, Where::random}) {
      program.log->lines.clear();
      const Planned planned = plan_with(with_device_loops(), program.graph, where, seed);
      ExecutorSetup setup = simulated_setup();
      const std::unique_ptr<Executor> executor = executor_for(planned, setup);
      ASSERT_TRUE(executor);
      RunOptions options = program.options;
      options.verify = seed % 4 == 3;
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), program.expected, false);
      EXPECT_EQ(program.log->lines, program.effects);
    }
  }
}

TEST(DeviceLoops, RandomLoopsEqualTheReference) {
  for (std::uint64_t seed = 0; seed < draws(60U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(RandomLoops(seed).make());
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
    for (const Where where : {Where::accelerator, Where::random}) {
      const std::unique_ptr<Executor> executor = executor_for(plan_with(with_device_loops(), graph, where, seed));
      ASSERT_TRUE(executor);
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    }
  }
}

/// Decisions of the device are observed like the host's.
TEST(DeviceLoops, TripsAreObserved) {
  const auto graph = std::make_shared<const Graph>(trace("halving", {{"x", "f32[64, 64]"}}, [](Tensor x) {
    return while_loop([](Tensor, Tensor left) { return left > 1.0F; }, std::tuple(x, sum(x * 0.0F) + 32.0F),
                      [](Tensor v, Tensor left) { return std::tuple(matmul(v, v) * 0.01F, left * 0.5F); });
  }));
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  options.observe = true;
  const auto observed = [&](const CostModel& model) {
    const std::unique_ptr<Executor> executor = executor_for(plan_with(model, graph, Where::accelerator));
    const Result<RunResult> result = executor->run(options);
    EXPECT_TRUE(result.ok());
    return result->observed.expected;
  };
  const auto driven = observed(simulated_costs()), alone = observed(with_device_loops());
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone.begin()->second, 5);
  EXPECT_EQ(alone, driven);
}

/// If no side waits within a loop, its predicted time equals that of the virtual clock, iteration by iteration.
TEST(DeviceLoops, TheClockCountsWhatATripTakes) {
  const auto graph = std::make_shared<const Graph>(
      trace("steps", {{"x", "f32[64, 64]"}}, [](Tensor x) { return for_loop(100, x, [](Tensor, Tensor v) { return matmul(v, v); }); }));
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const auto seconds = [&](double trip_seconds) {
    CostModel model = with_device_loops();
    model.machine.accelerators[0].trip_seconds = trip_seconds;
    Diagnostics diagnostics;
    const CostedProblem costed = make_problem(*graph, model, diagnostics);
    const Planned planned = plan_with(model, graph, Where::accelerator);
    const std::unique_ptr<Executor> executor = executor_for(planned);
    const Result<RunResult> result = executor->run(options);
    EXPECT_TRUE(result.ok());
    EXPECT_NEAR(result->simulated_seconds, predict(*planned.program, planned.transfers, costed).seconds, 1.001 * trip_seconds + 1e-9);
    return result->simulated_seconds;
  };
  EXPECT_NEAR(seconds(3e-6) - seconds(0), 100 * 3e-6, 1.001 * 3e-6);  // the first decision overlaps with the transfer of `x`
}

}  // namespace
}  // namespace cleave::testing
