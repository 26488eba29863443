// Channels of planned depths: on the virtual clock, no sender waits for a free slot when the host's work comes in bursts. Results do not
// depend on the depth.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/ops/ops.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/host_call.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

constexpr double kStep = 1e-3;  ///< on the accelerator
constexpr int kTrips = 100;

/// The host reads the result of each step, and in every tenth iteration works on it for the time of six steps.
std::shared_ptr<const Graph> bursty() {
  const auto note = [](std::span<const float>) {};
  const auto archive = [](std::span<const float>) {};
  const auto step = [](const Tensor& x) {
    const Scope scope = place(Side::accelerator);
    return tanh(x);
  };
  return std::make_shared<const Graph>(trace("bursty", {{"w", "f32[64, 64]"}}, [&](Tensor w) {
    w = for_loop(kTrips, w, [&](Tensor i, Tensor carried) {
      const Tensor next = step(carried);
      host_call("note", {}, {.seconds = 0.1 * kStep}, note, next);
      cond(i % 10 == 0, [&] { host_call("archive", {}, {.seconds = 6 * kStep}, archive, next); });
      return next;
    });
    return named("w", w);
  }));
}

PlanOptions timed() {
  PlanOptions options;
  options.costs = simulated_costs();
  Machine& machine = options.costs.machine;
  machine.accelerators[0].points.clear();
  machine.accelerators[0].overhead_seconds = kStep;
  machine.accelerators[0].host_to_accelerator = machine.accelerators[0].accelerator_to_host = LinkDirection{1e-5, 1e12, {}, {}};
  machine.host.run_seconds = machine.host.trip_seconds = 0;
  return options;
}

/// The waiting time of the accelerator and the time of the run, on the virtual clock.
struct Timed {
  double waited = 0, seconds = 0;
  Outcome outcome;
};
Timed run_timed(const Planned& planned, const RunOptions& options, int capacity) {
  ExecutorSetup setup = simulated_setup();
  setup.channel_capacity = capacity;
  setup.check_memory = true;
  RunOptions with = options;
  with.timeline = true;
  Timed timed;
  const auto executor = executor_for(planned, setup);
  timed.outcome = run_with(with, [&](const RunOptions& o) { return executor->run(o); });
  EXPECT_TRUE(timed.outcome.result.ok());
  if (!timed.outcome.result.ok()) return timed;
  timed.seconds = timed.outcome.result->simulated_seconds;
  double busy_until = 0;  // the accelerator is idle between two of its kernels
  for (const TimelineEvent& event : timed.outcome.result->timeline.events) {
    if (event.device == kHost || event.what != TimelineEvent::What::compute) continue;
    if (busy_until > 0) timed.waited += std::max(0.0, event.start_seconds - busy_until);
    busy_until = event.end_seconds;
  }
  return timed;
}

TEST(Depths, LetNobodyWaitForRoomInBursts) {
  const auto graph = bursty();
  ASSERT_TRUE(graph->ok());
  const Plan plan = planner::plan(*graph, timed());
  ASSERT_TRUE(plan.complete());
  const auto deepest = std::max_element(plan.program.channels.begin(), plan.program.channels.end(),
                                        [](const Channel& a, const Channel& b) { return a.depth < b.depth; });
  ASSERT_GT(deepest->depth, kDefaultDepth);
  const Planned planned = as_planned(plan);
  RunOptions options;
  options.inputs = random_inputs(*plan.graph, 3);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*plan.graph, o); });
  const Timed as_planned = run_timed(planned, options, 0), shallow = run_timed(planned, options, kDefaultDepth),
              deep = run_timed(planned, options, 4 * deepest->depth);
  for (const Timed* each : {&as_planned, &shallow, &deep}) expect_equal(each->outcome, expected, false);
  EXPECT_LT(as_planned.waited, 0.05 * shallow.waited);
  EXPECT_LT(as_planned.seconds, 0.85 * shallow.seconds);
  EXPECT_NEAR(as_planned.seconds, deep.seconds, 0.01 * deep.seconds) << "deeper would not help";
  EXPECT_NEAR(as_planned.seconds, plan.predicted_seconds, 0.05 * plan.predicted_seconds);
}

/// The user's option wins over the plan's depths, in the plan and in the executor.
TEST(Depths, AreTheUsersIfGiven) {
  PlanOptions options = timed();
  options.channel_depth = 3;
  const Plan plan = planner::plan(*bursty(), options);
  for (const Channel& channel : plan.program.channels) EXPECT_EQ(channel.depth, 3);
  const Planned planned = as_planned(plan);
  RunOptions run_options;
  run_options.inputs = random_inputs(*plan.graph, 3);
  const double three = run_timed(planned, run_options, 0).seconds;
  EXPECT_EQ(three, run_timed(planned, run_options, 3).seconds);
  EXPECT_NE(three, run_timed(planned, run_options, 2).seconds);
}

/// Random programs whose channels have arbitrary depths, also in coalesced transfers.
TEST(Depths, ChangeNoResult) {
  for (std::uint64_t seed = 0; seed < seeds(40); ++seed) {
    RandomProgram program(seed);
    for (const Where where : {Where::accelerator, Where::random}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", placement " + std::to_string(static_cast<int>(where)));
      Planned planned = plan_for(program.graph, where, seed);
      Program deep = *planned.program;
      std::mt19937_64 random(seed);
      for (std::size_t c = 0; c < deep.channels.size(); ++c)
        if (!follows(deep, ChannelId(c))) set_depth(deep, ChannelId(c), 1 + static_cast<int>(random() % 9));
      ASSERT_EQ(verify(deep), std::vector<std::string>());
      planned.program = std::make_shared<const Program>(deep);
      ExecutorSetup setup = simulated_setup();
      setup.check_memory = true;
      setup.part_bytes = seed % 2 ? 32 : setup.part_bytes;
      setup.schedule = static_cast<ExecutorOptions::Schedule>(seed % 3);
      setup.schedule_seed = seed;
      setup.watchdog_seconds = 20;
      const auto executor = executor_for(planned, setup);
      ASSERT_TRUE(executor);
      for (int i = 0; i < 2; ++i) {
        program.log->lines.clear();
        const Outcome outcome = run_with(program.options, [&](const RunOptions& o) { return executor->run(o); });
        expect_equal(outcome, program.expected, false);
        EXPECT_EQ(program.log->lines, program.effects);
      }
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cleave::testing
