// Values that a copy engine transfers in each iteration of a loop: they are double-buffered where that can save a wait, and then iterations
// overlap as predicted. Results are those of the reference executor under all schedules.
#include "executor/memory/loop_transfers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <span>

#include "executor/memory/double_buffering.h"
#include "executor/memory/plan_memory.h"
#include "graph/trace/host_call.h"
#include "graph/trace/scope.h"
#include "tests/executor/run_support.h"
#include "tests/support/memory_plans.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_loops.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kPlace = 256;  ///< bytes of a buffer for any value here, whose data has 64 bytes

template <class F>
std::shared_ptr<const Graph> counted_program(F&& body) {
  auto graph =
      std::make_shared<const Graph>(trace("program", {{"a", "f32[4, 4]"}, {"x", "f32[4, 4]"}, {"count", "i32[]"}}, std::forward<F>(body)));
  EXPECT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  return graph;
}

/// A value that the host computes in a second.
Tensor made() {
  return host_call("make", {"f32[4, 4]"}, {.seconds = 1.0}, [](std::span<float> out) { std::fill(out.begin(), out.end(), 0.25F); });
}

/// The host reads a value, which takes a second.
void show(const Tensor& value) {
  host_call(
      "show", {}, {.seconds = 1.0}, [](std::span<const float>) {}, value);
}

MemoryPlan plan_twice_from(const std::shared_ptr<const Graph>& graph, std::int64_t twice_from = 1) {
  const Planned planned = plan_for(graph, Where::accelerator);
  EXPECT_THAT(verify(*planned.program), IsEmpty());
  return plan_memory(*planned.program, kAccelerator, false, {}, {0, true, twice_from});
}

/// The number of values of a plan that have an exclusive second buffer.
std::size_t doubled(const MemoryPlan& plan) {
  std::size_t found = 0;
  for (const DoubleBuffers& double_buffers : plan.double_buffered_loops)
    for (const std::vector<StorageIndex>& cycle : double_buffers.cycles)
      found += plan.storages[static_cast<std::size_t>(cycle.back())].values.empty() ? 1 : 0;
  return found;
}

/// Runs under each schedule of the simulated accelerator, with channel capacities one and two, with and without checks.
void expect_reference_in_each_schedule(const std::shared_ptr<const Graph>& graph, Where where = Where::accelerator,
                                       std::uint64_t seed = 0) {
  RunOptions options;
  options.inputs = random_inputs(*graph, seed);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  ASSERT_TRUE(expected.result.ok()) << expected.result.error().message;
  const Planned planned = plan_for(graph, where, seed);
  int variant = static_cast<int>(seed % 2);
  for (const auto schedule : {ExecutorOptions::Schedule::eager, ExecutorOptions::Schedule::latest, ExecutorOptions::Schedule::random}) {
    ExecutorOptions executor_options;
    executor_options.schedule = schedule;
    executor_options.schedule_seed = seed;
    executor_options.check_memory = true;
    executor_options.channel_capacity = 1 + ++variant % 2;
    const std::unique_ptr<Executor> executor = executor_for(planned, simulated_setup(executor_options));
    ASSERT_TRUE(executor);
    for (int run = 0; run < 2; ++run)
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    EXPECT_LE(executor->measured_peak(kAccelerator), executor->planned_peak(kAccelerator));
  }
}

constexpr int kAsTold = -1;  ///< the trip count is an input

Tensor trips_of(int trips, const Tensor& count) {
  return trips == kAsTold ? count : Tensor(trips);
}

/// The host computes a value in each iteration, and the accelerator reads it.
std::shared_ptr<const Graph> receiving(int trips) {
  return counted_program([trips](Tensor, Tensor x, Tensor count) {
    return for_loop(trips_of(trips, count), x, [&](Tensor, Tensor carried) { return carried + to_accelerator(made()); });
  });
}

/// The accelerator computes a value in each iteration, and the host reads it.
std::shared_ptr<const Graph> sending(int trips) {
  return counted_program([trips](Tensor a, Tensor x, Tensor count) {
    return for_loop(trips_of(trips, count), x, [&](Tensor, Tensor carried) {
      show(matmul(carried, a));
      return carried * 0.5;
    });
  });
}

/// The host reads the loop-carried value of each iteration.
std::shared_ptr<const Graph> sending_carried(int trips) {
  return counted_program([trips](Tensor, Tensor x, Tensor count) {
    return for_loop(trips_of(trips, count), x, [&](Tensor, Tensor carried) {
      const Tensor next = tanh(carried) * 0.5;
      show(next);
      return next;
    });
  });
}

TEST(LoopTransfers, WhatIsReceivedInEachTripHasTwoPlaces) {
  for (const int trips : {2, 5, kAsTold}) {
    const auto graph = receiving(trips);
    const MemoryPlan plan = plan_twice_from(graph);
    ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
    EXPECT_EQ(plan.double_buffered_loops[0].turns, 2);
    EXPECT_EQ(doubled(plan), 1U);
    EXPECT_EQ(trip_moves(plan), 0U);
    EXPECT_THAT(plan.double_buffered_loops[0].home[1], IsEmpty());
    // The counter, too, needs a buffer: it shares one with the received value, unless that is received during the previous iteration.
    EXPECT_EQ(plan.arena_bytes, plan_twice_from(graph, 0).arena_bytes + 2 * kPlace);
    for (std::uint64_t seed = 0; seed < 4; ++seed) expect_reference_in_each_schedule(graph, Where::accelerator, seed);
  }
}

TEST(LoopTransfers, WhatIsSentInEachTripHasTwoPlaces) {
  for (const int trips : {2, 5, kAsTold}) {
    const auto graph = sending(trips);
    EXPECT_EQ(doubled(plan_twice_from(graph)), 1U);
    EXPECT_LE(plan_twice_from(graph).arena_bytes, plan_twice_from(graph, 0).arena_bytes + 2 * kPlace);  // the first one is live longer, too
    for (std::uint64_t seed = 0; seed < 4; ++seed) expect_reference_in_each_schedule(graph, Where::accelerator, seed);
  }
}

TEST(LoopTransfers, WhatIsSentAndCarriedTakesTurnsInsteadOfBeingOverwritten) {
  const auto before = counted_program([](Tensor, Tensor x, Tensor) {
    return for_loop(5, x, [&](Tensor, Tensor carried) {
      show(carried);
      return tanh(carried) * 0.5;
    });
  });
  for (const auto& graph : {sending_carried(2), sending_carried(5), sending_carried(kAsTold), before}) {
    const MemoryPlan plan = plan_twice_from(graph), small = plan_twice_from(graph, 0);
    EXPECT_EQ(trip_moves(small) + trip_moves(plan), 0U);
    EXPECT_THAT(small.double_buffered_loops, IsEmpty());
    ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
    EXPECT_EQ(plan.double_buffered_loops[0].turns, 2);
    EXPECT_THAT(plan.double_buffered_loops[0].home[1], SizeIs(1));
    for (std::uint64_t seed = 0; seed < 4; ++seed) expect_reference_in_each_schedule(graph, Where::accelerator, seed);
  }
}

TEST(LoopTransfers, NothingIsCopiedForASecondPlace) {
  const auto outer = counted_program([](Tensor a, Tensor x, Tensor) {
    return for_loop(3, x, [&](Tensor, Tensor carried) {
      const Tensor inner = for_loop(2, carried, [&](Tensor, Tensor v) { return matmul(a, v) * 0.1; });
      show(inner);
      return inner;
    });
  });
  const auto three = counted_program([](Tensor a, Tensor x, Tensor) {
    return for_loop(7, std::tuple(x, a, x + a, tanh(x)), [&](Tensor, Tensor p, Tensor q, Tensor r, Tensor s) {
      const Tensor next = s * 0.5;
      show(next);
      return std::tuple(q, r, p, next);
    });
  });
  for (const auto& graph : {outer, three}) {
    EXPECT_EQ(trip_moves(plan_twice_from(graph)), trip_moves(plan_twice_from(graph, 0)));
    expect_reference_in_each_schedule(graph);
  }
}

TEST(LoopTransfers, InALoopOfThreeTurnsThereAreThreePlaces) {
  const auto graph = counted_program([](Tensor a, Tensor x, Tensor) {
    return for_loop(7, std::tuple(x, a, x + a),
                    [&](Tensor, Tensor p, Tensor q, Tensor r) { return std::tuple(q, r, p * 0.5 + to_accelerator(made())); });
  });
  const MemoryPlan plan = plan_twice_from(graph);
  ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
  EXPECT_EQ(plan.double_buffered_loops[0].turns, 3);
  EXPECT_EQ(doubled(plan), 1U);
  EXPECT_THAT(plan.double_buffered_loops[0].cycles.back(), SizeIs(3));
  for (std::uint64_t seed = 0; seed < 4; ++seed) expect_reference_in_each_schedule(graph, Where::accelerator, seed);
}

TEST(LoopTransfers, WhatTravelsAsOneHasTwoPlacesTogether) {
  const auto graph = counted_program([](Tensor, Tensor x, Tensor) {
    return for_loop(5, x, [&](Tensor, Tensor carried) {
      const auto [first, second] = host_call("both", {"f32[4, 4]", "f32[4, 4]"}, [](std::span<float> p, std::span<float> q) {
        std::fill(p.begin(), p.end(), 0.25F);
        std::fill(q.begin(), q.end(), 0.5F);
      });
      return carried + to_accelerator(first) * to_accelerator(second);
    });
  });
  EXPECT_EQ(doubled(plan_twice_from(graph, 128)), 2U);
  EXPECT_EQ(doubled(plan_twice_from(graph, 4096)), 0U);
  for (std::uint64_t seed = 0; seed < 4; ++seed) expect_reference_in_each_schedule(graph, Where::accelerator, seed);
}

TEST(LoopTransfers, WhatIsSmallOrHasOneTripHasOnePlace) {
  EXPECT_EQ(doubled(plan_twice_from(receiving(3), 64)), 1U);
  EXPECT_EQ(doubled(plan_twice_from(receiving(3), 65)), 0U);
  EXPECT_EQ(doubled(plan_twice_from(receiving(3), 0)), 0U);
  for (const int trips : {0, 1}) {
    EXPECT_EQ(doubled(plan_twice_from(receiving(trips))), 0U);
    expect_reference_in_each_schedule(receiving(trips));
  }
}

/// A machine on which a kernel and the host's function take one second each, and a transfer two.
Machine round_machine() {
  Machine machine = *Machine::shipped("simulated");
  machine.host.overhead_seconds = machine.host.trip_seconds = machine.host.run_seconds = 0;
  machine.host.bytes_per_second = 1e30;
  machine.accelerators[0].overhead_seconds = 1;
  machine.accelerators[0].host_to_accelerator = machine.accelerators[0].accelerator_to_host = LinkDirection{2, 1e30, {}, {}};
  return machine;
}

struct Timed {
  double simulated = 0, predicted = 0;
  std::int64_t peak = 0;
};

Timed run_timed(const std::shared_ptr<const Graph>& graph, std::int64_t memory_bytes = 0) {
  PlanOptions options;
  options.costs = simulated_costs();
  options.costs.machine = round_machine();
  options.costs.policy = Policy::accelerator;
  const Plan made = plan(*graph, options);
  EXPECT_TRUE(made.complete());
  Planned planned = as_planned(made);
  if (memory_bytes > 0) planned.costs.memory_bytes[kAccelerator] = static_cast<double>(memory_bytes);
  RunOptions run;
  run.inputs = random_inputs(*made.graph, 1);
  const Outcome expected = run_with(run, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const std::unique_ptr<Executor> executor = executor_for(planned);
  const Outcome outcome = run_with(run, [&](const RunOptions& o) { return executor->run(o); });
  expect_equal(outcome, expected, false);
  EXPECT_EQ(executor->measured_peak(kAccelerator), executor->planned_peak(kAccelerator));
  return {outcome.result ? outcome.result->simulated_seconds : 0, made.predicted_seconds, executor->planned_peak(kAccelerator)};
}

TEST(LoopTransfers, TripsOverlapAsPredictedUnlessMemoryIsShort) {
  constexpr int kTrips = 40;
  for (const auto& graph : {receiving(kTrips), sending(kTrips), sending_carried(kTrips)}) {
    const Timed timed = run_timed(graph);
    EXPECT_NEAR(timed.simulated, timed.predicted, 0.02 * timed.predicted);
    EXPECT_LT(timed.simulated, kTrips * 2.2);
    const Timed scarce = run_timed(graph, timed.peak - 1);
    EXPECT_LT(scarce.peak, timed.peak);
    EXPECT_GT(scarce.simulated, 1.3 * timed.simulated);
  }
}

TEST(LoopTransfers, OfRandomLoopsEqualTheReference) {
  std::size_t places = 0;
  for (std::uint64_t seed = 0; seed < 80 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(RandomLoops(seed).make());
    ASSERT_TRUE(graph->ok());
    for (const Where where : {Where::accelerator, Where::random}) {
      const Planned planned = plan_for(graph, where, seed);
      const MemoryPlan plan = plan_memory(*planned.program, kAccelerator, false, {}, {0, true, 1});
      places += doubled(plan);
      EXPECT_LE(trip_moves(plan), trip_moves(plan_memory(*planned.program, kAccelerator, false)));
      expect_reference_in_each_schedule(graph, where, seed);
    }
  }
  EXPECT_GT(places, 100U);
}

}  // namespace
}  // namespace cleave::testing
