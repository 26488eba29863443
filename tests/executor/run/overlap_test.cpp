// Host operations that compute on large values while these are being transferred in chunks: results are equal to the bit to those of whole
// transfers, for chunks of every size; copy and compute overlap on the virtual clock; failures in between.
#include "executor/run/prepare/overlap.h"

#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/executor/overlap_programs.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using namespace overlap;

ExecutorSetup setup_of(std::int64_t part_bytes, int capacity = 2, ExecutorOptions::Schedule schedule = ExecutorOptions::Schedule::eager,
                       int threads = 1) {
  ExecutorSetup setup = simulated_setup();
  setup.part_bytes = part_bytes;
  setup.channel_capacity = capacity;
  setup.schedule = schedule;
  setup.schedule_seed = static_cast<std::uint64_t>(part_bytes);
  setup.threads = threads;
  setup.check_memory = true;
  setup.watchdog_seconds = 20;
  return setup;
}

TEST(Overlap, ChangesNoBitAndNoCounter) {
  for (const Traced& graph : {taking(), giving(), through(5)}) {
    const Planned planned = plan_in_parts(graph, Where::accelerator);
    const RunOptions options = given(*graph);
    const Outcome whole = run(*executor_for(planned, setup_of(kWhole)), options);
    expect_equal(whole, run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); }), false);
    for (const std::int64_t part_bytes : {1000, 4096, 40000, 100001, 239999}) {
      if (kSanitized && part_bytes < 40000) continue;
      double seconds = 0;
      for (int variant = 0; variant < 9; ++variant) {
        SCOPED_TRACE(graph->name + ", parts of " + std::to_string(part_bytes) + ", variant " + std::to_string(variant));
        ExecutorSetup setup = setup_of(part_bytes, 2, static_cast<ExecutorOptions::Schedule>(variant % 3), 1 + variant % 2 * 2);
        if (variant >= 6) setup.channel_capacity = variant % 2 ? 1 : 3;
        const auto executor = executor_for(planned, setup);
        for (int i = 0; i < 2; ++i) {
          const Outcome outcome = run(*executor, options);
          expect_same(outcome, whole);
          if (HasFailure()) return;
          EXPECT_LE(outcome.result->simulated_seconds, (part_bytes < kBytes / 2 ? 0.99 : 1) * whole.result->simulated_seconds);
          if (variant == 0) seconds = outcome.result->simulated_seconds;
          EXPECT_TRUE(variant >= 6 || outcome.result->simulated_seconds == seconds) << "whatever really happened when";
        }
      }
    }
  }
}

/// Operations on values of [300, 200] and of equal size, each randomly placed on either side, a few of them in a loop.
Traced drawn(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t count) { return random() % count; };
  return std::make_shared<const Graph>(trace("drawn", {{"x", kType}, {"y", kType}, {"b", "f32[200]"}}, [&](Tensor x, Tensor y, Tensor b) {
    std::vector<Tensor> all{x, y};
    const auto one = [&] { return all[all.size() - 1 - pick(std::min<std::size_t>(4, all.size()))]; };
    const auto next = [&]() -> Tensor {
      switch (pick(11)) {
        case 0: return tanh(one()) * 0.5F;
        case 1: return one() + one() * 0.25F;
        case 2: return maximum(one(), one()) - b;
        case 3: return one() - mean(one(), {.axis = 1, .keepdims = true});
        case 4: return exp(-abs(one())) + sum(one(), {.axis = 0}) * 0.001F;
        case 5: return one() * sum(one() * 0.001F);
        case 6: return where(one() < one(), one(), b);
        case 7: return transpose(reshape(transpose(one()), {200, 300}));
        case 8: return max(one(), {.axis = 1, .keepdims = true}) * 0.5F + one();
        case 9: return reshape(reshape(one(), {60000}) * 0.75F, {300, 200});
        default: return sqrt(abs(one()));
      }
    };
    const auto draw = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) all.push_back(on(pick(2) ? Side::host : Side::accelerator, next));
    };
    draw(3 + pick(6));
    if (pick(2)) {
      const std::size_t before = all.size();
      const Tensor left = for_loop(static_cast<std::int64_t>(2 + pick(3)), one(), [&](Tensor, Tensor carried) {
        all.push_back(carried);
        draw(2 + pick(4));
        const Tensor yielded = all.back();
        all.resize(before, x);
        return yielded;
      });
      all.push_back(left);
      draw(pick(4));
    }
    return std::tuple(named("last", all.back()), named("one", one()), named("sum", sum(one(), {.axis = 1})));
  }));
}

TEST(Overlap, ChangesNothingInRandomPrograms) {
  int faster = 0;
  for (unsigned seed = 0; seed < draws(60U); ++seed) {
    const Traced graph = drawn(seed);
    ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
    const Planned planned = plan_in_parts(graph, Where::optimal);
    const RunOptions options = given(*graph);
    const Outcome whole = run(*executor_for(planned, setup_of(kWhole)), options);
    for (unsigned variant = 0; variant < 4; ++variant) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", variant " + std::to_string(variant));
      static constexpr std::int64_t sizes[] = {2000, 33000, 64000, 130000};
      const auto schedule = static_cast<ExecutorOptions::Schedule>((seed + variant) % 3);
      const auto executor = executor_for(planned, setup_of(sizes[variant], 1 + static_cast<int>(seed % 3), schedule, 1 + variant % 2 * 2));
      const Outcome outcome = run(*executor, options);
      expect_same(outcome, whole);
      if (HasFailure()) return;
      faster += outcome.result->simulated_seconds < whole.result->simulated_seconds * 0.999;
    }
  }
  EXPECT_GT(faster, draws(120));
}

TEST(Overlap, IsVerifiedAsAWholeAndToldToWhoListens) {
  for (const Traced& graph : {taking(), giving(), through(3)}) {
    const Planned planned = plan_in_parts(graph, Where::accelerator);
    const RunOptions options = given(*graph);
    const Outcome whole = run(*executor_for(planned, setup_of(kWhole)), options);
    const auto executor = executor_for(planned, setup_of(4096));
    RunOptions verified = options, listening = options;
    verified.verify = true;
    int told = 0;
    listening.on_output = [&](std::string_view, const Array&) { ++told; };
    for (const RunOptions& each : {verified, listening, options}) expect_same(run(*executor, each), whole);
    EXPECT_EQ(told, static_cast<int>(graph->outputs.size()));
  }
}

/// A plan in which every copy and every host kernel takes a second, and nothing else takes time.
Planned slowed(const Traced& graph) {
  CostModel model = simulated_costs();
  model.host_fuses = host_fuses;
  Planned planned = plan_with(model, graph, Where::accelerator);
  for (double& seconds : planned.costs.seconds[kAccelerator]) seconds = 0;
  for (double& seconds : planned.costs.seconds[kHost]) seconds = seconds > 0 ? 1 : 0;
  for (double& seconds : planned.costs.channel_seconds) seconds = 1;
  planned.costs.run_seconds = planned.costs.start_seconds = 0;
  return planned;
}

TEST(Overlap, HidesCopiesBehindWorkOnTheVirtualClock) {
  const Traced back = std::make_shared<const Graph>(trace("back", {{"x", kType}}, [](Tensor x) {
    const Tensor y = there([&] { return x + 1; });
    return named("y", here([&] { return sum(y, {.axis = 1}); }));
  }));
  const Traced out = std::make_shared<const Graph>(trace("out", {{"x", kType}}, [](Tensor x) {
    const Tensor y = here([&] { return x + 1; });
    return named("y", there([&] { return sum(y, {.axis = 1}); }));
  }));
  const auto seconds = [](const Traced& graph, std::int64_t part_bytes) {
    const Outcome outcome = run(*executor_for(slowed(graph), setup_of(part_bytes)), given(*graph));
    EXPECT_TRUE(outcome.result.ok());
    return outcome.result.ok() ? outcome.result->simulated_seconds : 0;
  };
  // Whole transfers add up: to the accelerator, back, and the host's work. With chunks, the work that is left after the last chunk has
  // arrived is that of up to two chunks, depending on the pieces' alignment within chunks.
  EXPECT_DOUBLE_EQ(seconds(back, kWhole), 3);
  EXPECT_GE(seconds(back, kBytes / 8), 2 + 1.0 / 8);
  EXPECT_LE(seconds(back, kBytes / 8), 2 + 2.0 / 8);
  // Whole transfers: a constant, the work, the transfer of the value, and the sum back. In chunks, the last chunk is left when the work is
  // done.
  EXPECT_DOUBLE_EQ(seconds(out, kWhole), 4);
  EXPECT_DOUBLE_EQ(seconds(out, kBytes / 8), 3 + 1.0 / 8);
  // Whole transfers: to the accelerator, back, the work, to the accelerator, and back. In chunks, the work overlaps with the copies around
  // it.
  EXPECT_DOUBLE_EQ(seconds(through(1), kWhole), 5);
  EXPECT_GE(seconds(through(1), kBytes / 8), 3 + 2.0 / 8);
  EXPECT_LE(seconds(through(1), kBytes / 8), 3 + 3.0 / 8);
}

TEST(Overlap, LetsTheAcceleratorBeginBeforeAllHasCome) {
  const Traced graph = std::make_shared<const Graph>(trace("m", {{"x", kType}, {"y", kType}}, [](Tensor x, Tensor y) {
    const Tensor both = there([&] { return x + y * 0.5F; });  // before the other one, whatever the compiler
    return std::tuple(named("rows", there([&] { return max(x, {.axis = 1}); })), named("both", both));
  }));
  Planned planned = slowed(graph);
  for (double& seconds : planned.costs.seconds[kHost]) seconds = 0;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i)
    planned.costs.seconds[kAccelerator][NodeId(i)] = graph->nodes[NodeId(i)].kind == NodeKind::operation ? 1 : 0;
  const RunOptions options = given(*graph);
  const Outcome whole = run(*executor_for(planned, setup_of(kWhole)), options);
  ASSERT_TRUE(whole.result.ok());
  for (const std::int64_t parts : {2, 3, 8, 30}) {
    SCOPED_TRACE(parts);
    const auto executor = executor_for(planned, setup_of(kBytes / parts));
    const Outcome outcome = run(*executor, options);
    expect_same(outcome, whole);
    if (HasFailure()) return;
    double work = 0;
    for (const TimelineEvent& event : outcome.result->timeline.events)
      if (event.what == TimelineEvent::What::compute && event.device != kHost) work += event.end_seconds - event.start_seconds;
    EXPECT_NEAR(work, 3, 1e-9) << "once, and without its waits";
    const double saved = whole.result->simulated_seconds - outcome.result->simulated_seconds;
    EXPECT_GE(saved, parts == 2 ? 0.4 : 0.6);
  }
}

TEST(Overlap, ShowsOnTheTimelineWhatItIs) {
  const Traced graph = through(1);
  const Planned planned = slowed(graph);
  const Outcome outcome = run(*executor_for(planned, setup_of(kBytes / 8)), given(*graph));
  ASSERT_TRUE(outcome.result.ok());
  double work = 0, copies = 0, end = 0;
  for (const TimelineEvent& event : outcome.result->timeline.events) {
    EXPECT_LE(event.start_seconds, event.end_seconds);
    end = std::max(end, event.end_seconds);
    const double seconds = event.end_seconds - event.start_seconds;
    if (event.what == TimelineEvent::What::compute && event.device == kHost) work += seconds;
    if (event.what == TimelineEvent::What::transfer) copies += seconds;
  }
  EXPECT_NEAR(work, 1, 1e-9) << "once, and without its waits";
  EXPECT_NEAR(copies, 5, 1e-9);
  EXPECT_DOUBLE_EQ(end, outcome.result->simulated_seconds);
}

TEST(Overlap, EndsInOneErrorWhereAPartDoesNotArrive) {
  for (const Traced& graph : {taking(), giving(), through(3)}) {
    const RunOptions options = given(*graph);
    const Planned planned = plan_in_parts(graph, Where::accelerator);
    const Outcome whole = run(*executor_for(planned, setup_of(kWhole)), options);
    int failed = 0;
    for (const char* fault : {"transfer:", "corrupt:", "stall:", "lost:"}) {
      for (int number = 1; number < 26; number += 3) {
        SCOPED_TRACE(graph->name + ", " + fault + std::to_string(number));
        ExecutorSetup setup = setup_of(40000, 1 + number % 2, static_cast<ExecutorOptions::Schedule>(number % 3));
        setup.inject = fault + std::to_string(number);
        setup.watchdog_seconds = 0.1;
        const auto executor = executor_for(planned, setup);
        const Outcome outcome = run(*executor, options);
        if (outcome.result.ok()) continue;  // fewer transfers than that
        ++failed;
        EXPECT_EQ(outcome.result.error().kind, ErrorKind::machine) << outcome.result.error().message;
        EXPECT_TRUE(outcome.result.error().location.known()) << outcome.result.error().message;
        if (std::string_view(fault) != "lost:") expect_same(run(*executor, options), whole);
      }
    }
    EXPECT_GE(failed, 8);
  }
}

TEST(Overlap, CanBeCancelledAtAnyTime) {
  const Traced graph = through(kSanitized ? 20 : 200);
  const Planned planned = plan_in_parts(graph, Where::accelerator);
  const auto executor = executor_for(planned, setup_of(8192));
  const RunOptions options = given(*graph);
  const Outcome whole = run(*executor, options);
  ASSERT_TRUE(whole.result.ok());
  int cancelled = 0;
  for (int i = 0; i < 30; ++i) {
    std::jthread end([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(700 * i));
      executor->end(Error{"cancelled", {}, ErrorKind::user});
    });
    const Outcome outcome = run(*executor, options);
    end.join();
    if (outcome.result.ok()) continue;
    ++cancelled;
    EXPECT_EQ(outcome.result.error().message, "cancelled");
  }
  EXPECT_GT(cancelled, 10);
  expect_same(run(*executor, options), whole);
}

}  // namespace
}  // namespace cleave::testing
