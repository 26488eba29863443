// The summary of a run's samples, the samples that are rejected, and the clock that detects those.
#include "executor/report/observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "executor/report/sample_clock.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

Graph small_graph() {
  return trace("m", {{"x", "f32[8]"}}, [](Tensor x) { return exp(x); });
}

NodeId exp_of(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.op_name(NodeId(i)) == "exp") return NodeId(i);
  return {};
}

/// The only observed time, and its samples.
std::pair<double, SampleSummary> summed_up(const runtime::Observation& observation, const Graph& graph) {
  const Profile profile = observation.profile(graph);
  EXPECT_EQ(profile.host_seconds.size(), 1U);
  EXPECT_EQ(profile.host_samples.size(), 1U);
  return {profile.host_seconds.begin()->second, profile.host_samples.begin()->second};
}

TEST(Observation, TheMedianIsNotMovedByOutliers) {
  const Graph graph = small_graph();
  runtime::Observation observation;
  for (const double seconds : {3.0, 1.0, 2.0, 100.0, 5.0}) observation.seconds(exp_of(graph), seconds);
  const auto [median, samples] = summed_up(observation, graph);
  EXPECT_EQ(median, 3);
  EXPECT_EQ(samples, (SampleSummary{5, 1, 2, 0}));
}

TEST(Observation, PreemptedSamplesAreCountedAndRejected) {
  const Graph graph = small_graph();
  runtime::Observation observation;
  observation.seconds(exp_of(graph), 9, true);
  observation.seconds(exp_of(graph), 8, true);
  EXPECT_EQ(summed_up(observation, graph), (std::pair{8.0, SampleSummary{0, 8, 0, 2}})) << "there is no other: the fastest";
  observation.seconds(exp_of(graph), 10);
  EXPECT_EQ(summed_up(observation, graph), (std::pair{10.0, SampleSummary{1, 10, 0, 2}}));
}

TEST(Observation, OfManySamplesSomeAreKeptAndAllAreCounted) {
  const Graph graph = small_graph();
  runtime::Observation observation;
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) observation.seconds(exp_of(graph), 1 + i * 7919 % kMany);  // each number up to 100000 once
  const auto [median, samples] = summed_up(observation, graph);
  EXPECT_EQ(samples.count, kMany);
  EXPECT_EQ(samples.minimum, 1);
  EXPECT_NEAR(median, kMany / 2, kMany / 10);
  EXPECT_NEAR(samples.spread, kMany / 4, kMany / 20);
}

/// Computes for the given time of the thread's own clock.
void compute(double processor_seconds) {
  const auto seconds = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  for (const double end = seconds() + processor_seconds; seconds() < end;) {
  }
}

TEST(SampleClock, FindsWhatAnotherThreadOnTheSameCoreTakes) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  std::atomic<bool> over = false;
  int preempted = 0;
  double longest = 0;
  std::thread measured([&] {
    sched_setaffinity(0, sizeof one, &one);
    runtime::SampleClock clock;
    for (int i = 0; i < 5; ++i) {
      clock.begin();
      compute(0.05);
      const runtime::SampleClock::Sample sample = clock.end();
      preempted += sample.preempted ? 1 : 0;
      longest = std::max(longest, sample.seconds);
    }
    over = true;
  });
  std::thread disturbing([&] {
    sched_setaffinity(0, sizeof one, &one);
    while (!over) compute(0.001);
  });
  measured.join();
  disturbing.join();
  EXPECT_EQ(preempted, 5) << "two threads share a core for 50 ms each time";
  EXPECT_GT(longest, 0.055);
}

TEST(SampleClock, KeepsSamplesThatWaitOrAreShort) {
  runtime::SampleClock clock;
  int preempted = 0;
  for (int i = 0; i < 20; ++i) {
    clock.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const runtime::SampleClock::Sample sample = clock.end();
    EXPECT_GE(sample.seconds, 0.001);
    preempted += sample.preempted ? 1 : 0;
    clock.begin();
    const runtime::SampleClock::Sample nothing = clock.end();
    EXPECT_TRUE(!nothing.preempted || nothing.seconds > 5e-5);
  }
  EXPECT_EQ(preempted, 0) << "what waits of its own accord is kept";
}

}  // namespace
}  // namespace cleave::testing
