// Data of loops that worker threads make ahead: equal bits for every number of workers, errors that belong to their trip, what is never
// made ahead, and the time of a run, measured, predicted and on the virtual clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/compiled.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

const HostOptions kPure{.pure = true, .seconds = 1e-3};
const HostOptions kEffect{.pure = false, .seconds = 1e-3};

CompileOptions with_workers(const std::string& device, int workers) {
  CompileOptions options{.device = device, .placement = device == "none" ? Policy::host : Policy::accelerator};
  options.executor.workers = workers;
  options.executor.check_memory = device == "simulated";
  return options;
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Data of a trip: numbers that depend on the trip alone.
void decode(std::span<const std::int32_t> trip, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>((static_cast<std::size_t>(trip[0]) * 31 + i * 7) % 97) / 97;
}

Array some_values() {
  std::vector<float> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 11) / 11;
  return Array::of<float>({300}, values);
}

Result<RunResult> run(const Executable& program) {
  return program.run({{"x", some_values()}});
}

/// Checks that the outputs are those without workers, to the bit, for several numbers of workers and in repeated runs.
void expect_equal_runs(const Graph& graph, const std::string& device) {
  const Result<RunResult> expected = run(compiled(graph, with_workers(device, 0)));
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  for (const int workers : {1, 2, 3}) {
    const Executable program = compiled(graph, with_workers(device, workers));
    EXPECT_FALSE(program.plan().program.producers.empty());
    for (int i = 0; i < 3; ++i) {
      const Result<RunResult> result = run(program);
      ASSERT_TRUE(result.ok()) << result.error().message;
      for (const auto& [name, array] : expected->outputs)
        EXPECT_TRUE(*result->output(name) == array) << name << ", " << workers << " workers";
    }
  }
}

class Producers : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, Producers, ::testing::Values("none", "simulated"));

TEST_P(Producers, GiveEqualBitsForEveryNumberOfWorkers) {
  expect_equal_runs(trace("several", {{"x", "f32[300]"}},
                          [&](Tensor x) {
                            return named("y", for_loop(draws(40), x, [&](Tensor trip, Tensor w) {
                                           const Tensor data = host_call("decode", {"f32[300]"}, kPure, decode, trip);
                                           const Tensor scaled = tanh(data * 3 + x) - flip(data);
                                           const Tensor even = cond(
                                               trip % 2 == 0, [&] { return scaled * 2; }, [&] { return scaled + w; });
                                           return sort(w + even) * 0.5F + data;
                                         }));
                          }),
                    GetParam());
}

TEST_P(Producers, OfNestedLoopsBeginAnewInEachTrip) {
  expect_equal_runs(trace("nested", {{"x", "f32[300]"}},
                          [&](Tensor x) {
                            return named("y", for_loop(6, x, [&](Tensor outer, Tensor w) {
                                           const Tensor first = host_call("outer", {"f32[300]"}, kPure, decode, outer * 100);
                                           return for_loop(outer % 4, w + first, [&](Tensor inner, Tensor v) {
                                             const Tensor data = host_call("inner", {"f32[300]"}, kPure, decode, inner + outer);
                                             return sort(v + data * first) * 0.5F;
                                           });
                                         }));
                          }),
                    GetParam());
}

TEST_P(Producers, MayBeYieldedAsTheyAre) {
  expect_equal_runs(trace("yielded", {{"x", "f32[300]"}},
                          [&](Tensor x) {
                            const auto [y, z] = for_loop(9, std::tuple(x, x), [&](Tensor trip, Tensor a, Tensor b) {
                              const Tensor data = host_call("decode", {"f32[300]"}, kPure, decode, trip);
                              return std::tuple(data, a + b * 0.5F);
                            });
                            return std::vector<Tensor>{named("y", y), named("z", z)};
                          }),
                    GetParam());
}

TEST_P(Producers, OfAsynchronousFunctionsAreMadeAheadToo) {
  expect_equal_runs(trace("asynchronous", {{"x", "f32[300]"}},
                          [&](Tensor x) {
                            const auto later = [](std::span<const std::int32_t> trip, std::span<float> out, HostToken token) {
                              std::thread([=] {
                                decode(trip, out);
                                token.done();
                              }).detach();
                            };
                            return named("y", for_loop(12, x, [&](Tensor trip, Tensor w) {
                                           return sort(w + host_call("decode", {"f32[300]"}, kPure, later, trip)) * 0.5F;
                                         }));
                          }),
                    GetParam());
}

/// A loop whose data cannot be decoded in trip `fails`, and which ends after trip `last`.
Graph failing(std::int32_t fails, std::int32_t last) {
  return trace("failing", {{"x", "f32[300]"}}, [&](Tensor x) {
    const auto reads = [fails](std::span<const std::int32_t> trip, std::span<float> out) {
      if (trip[0] >= fails) throw std::runtime_error("row " + std::to_string(trip[0]) + " is torn");
      decode(trip, out);
    };
    return named("y", for_loop(100, x, [&](Tensor trip, Tensor w) {
                   const Tensor data = host_call("decode", {"f32[300]"}, kPure, reads, trip);
                   return until(trip == last, sort(w + data) * 0.5F);
                 }));
  });
}

TEST_P(Producers, TellAnErrorInItsTripOnly) {
  for (const int workers : {0, 1, 3}) {
    const Executable reached = compiled(failing(5, 50), with_workers(GetParam(), workers));
    for (int i = 0; i < 2; ++i) {
      const Result<RunResult> failed = run(reached);
      ASSERT_FALSE(failed.ok());
      EXPECT_THAT(failed.error().message, HasSubstr("row 5 is torn"));
      EXPECT_TRUE(failed.error().location.known());
    }
    const Result<RunResult> before = run(compiled(failing(5, 4), with_workers(GetParam(), workers)));
    EXPECT_TRUE(before.ok()) << before.error().message;
  }
}

TEST_P(Producers, AreNotMadeForTripsThatTheLoopDoesNotMake) {
  std::atomic<int> calls = 0;
  const Graph graph = trace("counted", {{"x", "f32[300]"}, {"n", "i32[]"}}, [&](Tensor x, Tensor n) {
    const auto counts = [&calls](std::span<const std::int32_t> trip, std::span<float> out) {
      ++calls;
      decode(trip, out);
    };
    return named("y", for_loop(n, x, [&](Tensor trip, Tensor w) {
                   return sort(w + host_call("decode", {"f32[300]"}, kPure, counts, trip)) * 0.5F;
                 }));
  });
  const Executable program = compiled(graph, with_workers(GetParam(), 2));
  for (const int trips : {0, 1, 2, 7}) {
    calls = 0;
    ASSERT_TRUE(program.run({{"x", some_values()}, {"n", Array::scalar(trips)}}).ok());
    EXPECT_EQ(calls, trips);
  }
}

TEST_P(Producers, NeverCallFunctionsWithEffectsOrOfOneWorkerTwiceAtOnce) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<std::int32_t> order;
  std::atomic<int> at_once = 0, most = 0;
  const Graph graph = trace("effects", {{"x", "f32[300]"}}, [&](Tensor x) {
    const auto notes = [&](std::span<const std::int32_t> trip, std::span<float> out) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      order.push_back(trip[0]);
      decode(trip, out);
    };
    const auto alone = [&](std::span<const float> in, std::span<float> out) {
      most = std::max<int>(most, ++at_once);
      sleep_for(5e-4);
      std::copy(in.begin(), in.end(), out.begin());
      --at_once;
    };
    return named("y", for_loop(20, x, [&](Tensor trip, Tensor w) {
                   const Tensor data = host_call("note", {"f32[300]"}, kEffect, notes, trip);
                   const Tensor ahead = host_call("alone", {"f32[300]"}, kPure, alone, astype(trip, DType::f32) + x);
                   const Tensor behind = host_call("alone", {"f32[300]"}, kPure, alone, w);
                   return sort(behind + data + ahead) * 0.5F;
                 }));
  });
  ASSERT_TRUE(run(compiled(graph, with_workers(GetParam(), 1))).ok());
  EXPECT_EQ(most, 1);
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(Producers, EndWithACancelledRun) {
  std::atomic<int> calls = 0;
  const Graph graph = trace("long", {{"x", "f32[300]"}}, [&](Tensor x) {
    const auto slow = [&](std::span<const std::int32_t> trip, std::span<float> out) {
      ++calls;
      sleep_for(5e-3);
      decode(trip, out);
    };
    return named("y", for_loop(100'000, x, [&](Tensor trip, Tensor w) {
                   return sort(w + host_call("decode", {"f32[300]"}, kPure, slow, trip)) * 0.5F;
                 }));
  });
  const Executable program = compiled(graph, with_workers(GetParam(), 2));
  for (int i = 0; i < 2; ++i) {
    calls = 0;
    cleave::Run run = program.submit({{"x", some_values()}});
    while (calls < 5) std::this_thread::yield();
    run.cancel();
    ASSERT_FALSE(run.wait().ok());
    EXPECT_EQ(run.wait().error().message, "cancelled");
    const int made = calls;
    sleep_for(2e-2);
    EXPECT_EQ(calls, made) << "a worker goes on";
  }
}

TEST_P(Producers, StandStillWhereTheProgramSaysSo) {
  const auto producers = [&](std::optional<std::int64_t> prefetch, double seconds, int workers) {
    const Graph graph = trace("stated", {{"x", "f32[300]"}}, [&](Tensor x) {
      return named("y", for_loop(10, x,
                                 [&](Tensor trip, Tensor w) {
                                   return sort(w + host_call("decode", {"f32[300]"}, {.pure = true, .seconds = seconds}, decode, trip));
                                 },
                                 {.prefetch = prefetch}));
    });
    return compiled(graph, with_workers(GetParam(), workers)).plan().program.producers;
  };
  EXPECT_EQ(producers({}, 1e-3, 0).size(), 0U);
  EXPECT_EQ(producers(0, 1e-3, 1).size(), 0U);
  EXPECT_EQ(producers({}, 1e-5, 1).size(), 0U) << "not worth a worker";
  ASSERT_EQ(producers(3, 1e-5, 1).size(), 1U);
  EXPECT_EQ(producers(3, 1e-5, 1)[0].ahead, 3);
  EXPECT_EQ(producers({}, 1e-3, 1)[0].ahead, 2);
  EXPECT_EQ(producers({}, 1e-3, 5)[0].ahead, 5) << "no worker is idle";
}

/// Data that take `producer` seconds, and a step of `step` seconds that needs the step before.
Graph asleep(double producer, double step, int trips) {
  return trace("asleep", {{"x", "f32[300]"}}, [&](Tensor x) {
    const auto reads = [producer](std::span<const std::int32_t> trip, std::span<float> out) {
      sleep_for(producer);
      decode(trip, out);
    };
    const auto steps = [step](std::span<const float> w, std::span<const float> data, std::span<float> out) {
      sleep_for(step);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = w[i] * 0.5F + data[i];
    };
    return named("y", for_loop(trips, x, [&](Tensor trip, Tensor w) {
                   const Tensor data = host_call("decode", {"f32[300]"}, {.pure = true, .seconds = producer}, reads, trip);
                   return host_call("step", {"f32[300]"}, {.pure = false, .seconds = step}, steps, w, data);
                 }));
  });
}

TEST_P(Producers, HideTheirTimeBehindTheStep) {
  constexpr int kMadeTrips = 16;
  for (const auto& [producer, step] : {std::pair(1e-2, 5e-3), std::pair(5e-3, 1e-2), std::pair(15e-3, 5e-3)}) {
    double slowness = 1;  // how much longer than asked the machine sleeps, seen without workers
    for (const int workers : {0, 1, 2, 3}) {
      const double expected = workers == 0 ? producer + step : std::max(producer / workers, step);
      const Executable program = compiled(asleep(producer, step, kMadeTrips), with_workers(GetParam(), workers));
      const double begin = workers == 0 ? 0 : producer;  // the first data
      const double predicted = program.plan().predicted_seconds;
      EXPECT_NEAR(predicted, expected * kMadeTrips + begin, 0.05 * expected * kMadeTrips) << producer << " " << step << " " << workers;
      double best = 1e9, simulated = 1e9;
      for (int i = 0; i < 6 && best > 1.05 * (expected * kMadeTrips + begin); ++i) {
        const Result<RunResult> result = run(program);
        ASSERT_TRUE(result.ok()) << result.error().message;
        best = std::min(best, result->seconds);
        simulated = std::min(simulated, result->simulated_seconds);
      }
      if (workers == 0) slowness = std::max(1.0, best / (expected * kMadeTrips));
      if (GetParam() == std::string("simulated")) {
        EXPECT_GT(simulated, 0.95 * predicted) << workers << " workers";
        EXPECT_LT(simulated, 1.05 * slowness * predicted) << workers << " workers";
      }
      if (!kSanitized) {
        EXPECT_LT(best, 1.25 * slowness * (expected * kMadeTrips + begin)) << producer << " " << step << " " << workers;
      }
    }
  }
}

TEST_P(Producers, ShowTheirWorkInTimelineAndProfile) {
  const Executable program = compiled(asleep(2e-3, 1e-3, 10), with_workers(GetParam(), 2));
  const Result<RunResult> result = program.run(RunOptions{.inputs = {{"x", some_values()}}, .timeline = true, .observe = true});
  ASSERT_TRUE(result.ok()) << result.error().message;
  int made = 0;
  for (const TimelineEvent& event : result->timeline.events) made += event.lane == TimelineEvent::Lane::calls ? 1 : 0;
  EXPECT_EQ(made, 10);
}

TEST_P(Producers, AreMadeInTheirStepsWhileEveryNodeIsVerified) {
  const Executable program = compiled(asleep(1e-3, 1e-3, 5), with_workers(GetParam(), 2));
  const Result<RunResult> result = program.run(RunOptions{.inputs = {{"x", some_values()}}, .verify = true});
  EXPECT_TRUE(result.ok()) << result.error().message;
}

}  // namespace
}  // namespace cleave::testing
