// Loops with rotating buffers on the fake driver, for loop-carried values and for transferred ones: no copy within the device in any
// iteration, with single launches and with graphs, and no driver call for the second buffer.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <span>

#include "executor/cuda/back_end.h"
#include "graph/trace/host_call.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_loops.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;

struct DoubleBufferedRun {
  Outcome outcome;
  std::int64_t copies = 0, of_graphs = 0;  ///< copies within the device: single ones; nodes of all graphs
};

DoubleBufferedRun run_double_buffered_on_fake(const Planned& planned, const RunOptions& options, std::uint64_t variant) {
  DoubleBufferedRun seen;
  FakeDriver driver(static_cast<FakeDriver::Schedule>(variant % 3), variant);
  {
    cuda::CudaOptions cuda_options;
    cuda_options.stream_mode = variant % 2 == 1;
    ExecutorSetup setup{{}, cuda::back_end(), 0};
    setup.back_end.open = driver.opener(cuda_options);
    setup.fuse = variant % 4 < 2;
    setup.channel_capacity = 1 + static_cast<int>(variant / 2 % 2);
    setup.watchdog_seconds = 200;
    if (variant % 5 > 1) {  // transferred values rotate whatever their size
      setup.back_end.copied_from = 1;
      if (variant % 5 > 2) driver.wait_for_no_words();
    }
    const std::unique_ptr<Executor> executor = executor_for(planned, setup);
    if (!executor) return seen;
    for (int run = 0; run < 2; ++run) seen.outcome = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
    seen.copies = driver.count("cuMemcpyDtoDAsync") / 2;
    for (const std::string& graph : driver.graphs())
      for (std::size_t at = graph.find("copy"); at != std::string::npos; at = graph.find("copy", at + 1)) ++seen.of_graphs;
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), IsEmpty());
  return seen;
}

template <class F>
void expect_no_copies_in_trips(F&& body, int at_end) {
  for (int trips = 0; trips < 10; ++trips) {
    for (std::uint64_t variant = 0; variant < 6; ++variant) {
      SCOPED_TRACE(std::to_string(trips) + " trips, variant " + std::to_string(variant));
      const auto graph =
          std::make_shared<const Graph>(trace("program", {{"a", "f32[4, 4]"}, {"x", "f32[4, 4]"}, {"y", "f32[4, 4]"}, {"z", "f32[4, 4]"}},
                                              [&](Tensor a, Tensor x, Tensor y, Tensor z) { return body(trips, a, x, y, z); }));
      ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
      RunOptions options;
      options.inputs = random_inputs(*graph, variant);
      const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
      const DoubleBufferedRun seen = run_double_buffered_on_fake(plan_on_cuda(graph, Where::accelerator), options, variant);
      expect_equal(seen.outcome, expected, false);
      EXPECT_LE(seen.copies, at_end);
      EXPECT_EQ(seen.of_graphs, 0);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(CudaDoubleBuffering, APowerIterationCopiesNothingInItsTrips) {
  const auto powers = [](int trips, Tensor a, Tensor x, Tensor, Tensor) {
    const Tensor scaled = a / sqrt(sum(a * a));
    return for_loop(trips, x, [&](Tensor, Tensor v) { return matmul(scaled, v); });
  };
  expect_no_copies_in_trips(powers, 2);
}

TEST(CudaDoubleBuffering, ASwapCopiesNothingInItsTrips) {
  expect_no_copies_in_trips(
      [](int trips, Tensor, Tensor x, Tensor y, Tensor) {
        return for_loop(trips, std::tuple(x, y), [](Tensor, Tensor p, Tensor q) { return std::tuple(q, p); });
      },
      5);
}

TEST(CudaDoubleBuffering, ARowOfThreeValuesCopiesNothingInItsTrips) {
  expect_no_copies_in_trips(
      [](int trips, Tensor a, Tensor x, Tensor y, Tensor z) {
        return for_loop(trips, std::tuple(x, y, z),
                        [&](Tensor, Tensor p, Tensor q, Tensor r) { return std::tuple(q, r, matmul(a, q + r) * 0.1 + p * 0.5); });
      },
      7);
}

/// Driver calls of one run in which large values are transferred both ways in each iteration and one of them is loop-carried, with or
/// without rotating buffers.
std::map<std::string, std::int64_t> calls_of(int trips, bool in_turns, FakeDriver::Schedule schedule) {
  const auto graph = std::make_shared<const Graph>(trace("program", {{"x", "f32[130, 130]"}}, [&](Tensor x) {
    return for_loop(trips, x, [&](Tensor, Tensor carried) {
      const Tensor made = host_call("make", {"f32[130, 130]"}, [](std::span<float> out) { std::fill(out.begin(), out.end(), 0.25F); });
      const Tensor next = carried * 0.5 + made;
      host_call(
          "show", {}, [](std::span<const float>) {}, next);
      return next;
    });
  }));
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  FakeDriver driver(schedule, 7);
  std::map<std::string, std::int64_t> calls;
  {
    ExecutorSetup setup{{}, cuda::back_end(), 0};
    EXPECT_GT(130 * 130 * 4, setup.back_end.copied_from);
    setup.back_end.open = driver.opener({});
    if (!in_turns) setup.back_end.copied_from = 0;
    const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(graph, Where::accelerator), setup);
    if (!executor) return {};
    const auto before = driver.counts();
    expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    for (const char* each : {"cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuEventRecord"})
      if (driver.counts().contains(each)) calls[each] = driver.counts().at(each) - (before.contains(each) ? before.at(each) : 0);
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), IsEmpty());
  return calls;
}

TEST(CudaDoubleBuffering, SecondPlacesOfWhatCrossesCostNoCallOfTheDriver) {
  for (const auto schedule : {FakeDriver::Schedule::eager, FakeDriver::Schedule::latest, FakeDriver::Schedule::random}) {
    const auto calls = calls_of(20, true, schedule);
    EXPECT_EQ(calls, calls_of(20, false, schedule));
    EXPECT_EQ(calls.at("cuMemcpyHtoDAsync"), 20 + 1);
    EXPECT_EQ(calls.at("cuMemcpyDtoHAsync"), 20 + 1);
  }
}

TEST(CudaDoubleBuffering, RandomLoopsEqualTheReference) {
  for (std::uint64_t seed = 0; seed < draws(60U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(RandomLoops(seed).make());
    ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
    for (const Where where : {Where::accelerator, Where::random})
      expect_equal(run_double_buffered_on_fake(plan_on_cuda(graph, where, seed), options, seed).outcome, expected, false);
  }
}

}  // namespace
}  // namespace cleave::testing
