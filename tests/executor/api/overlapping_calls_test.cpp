// Pure host functions that execute concurrently: the elapsed time on the virtual and the real clock, the threads that call them, the order
// that is kept, and the call whose error is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr double kCallSeconds = 1e-2;
constexpr int kTrips = draws(10);

void tenth(std::span<const float> in, std::span<float> out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * 0.1F;
}

/// In each iteration, four independent calls and an operation that needs all of their results.
Graph four_calls(bool asynchronous) {
  return trace("four", {{"x", "f32[64, 64]"}}, [&](Tensor x) {
    return named("y", for_loop(kTrips, x, [&](Tensor, Tensor w) {
                   Tensor sum = w;
                   for (int k = 0; k < 4; ++k) {
                     const HostOptions options{.pure = true, .seconds = kCallSeconds};
                     const std::string name = "fetch" + std::to_string(k);
                     const Tensor given = tanh(w * (1.0F + static_cast<float>(k)));
                     const auto pause = [] { std::this_thread::sleep_for(std::chrono::duration<double>(kCallSeconds)); };
                     const auto later = [pause](std::span<const float> in, std::span<float> out, HostToken token) {
                       std::thread([=] {
                         pause();
                         tenth(in, out);
                         token.done();
                       }).detach();
                     };
                     const auto at_once = [pause](std::span<const float> in, std::span<float> out) {
                       pause();
                       tenth(in, out);
                     };
                     sum = sum + (asynchronous ? host_call(name, {"f32[64, 64]"}, options, later, given)
                                               : host_call(name, {"f32[64, 64]"}, options, at_once, given));
                   }
                   return matmul(sum, sum) / 64;
                 }));
  });
}

CompileOptions options_for(const std::string& device) {
  return {.device = device, .placement = device == "none" ? Policy::host : Policy::accelerator};
}
CompileOptions options_for(const std::string& device, int workers) {
  CompileOptions options = options_for(device);
  options.executor.workers = workers;
  return options;
}

Array tenths() {
  return Array::of<float>({64, 64}, std::vector<float>(64 * 64, 0.1F));
}

class OverlappingCalls : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, OverlappingCalls, ::testing::Values("none", "simulated"));

/// The shortest time of a few runs, since the machine may be busy.
double best_seconds(const Executable& program, double enough) {
  double best = 1e9;
  for (int i = 0; i < 5 && best > enough; ++i) {
    const auto start = Clock::now();
    const Result<RunResult> result = program.run({{"x", tenths()}});
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

/// Checks the predicted time, and the measured time with a tolerance for a busy machine.
void expect_seconds(const Executable& program, double each_trip, double at_most) {
  const double predicted = program.plan().predicted_seconds;
  EXPECT_NEAR(predicted, each_trip * kTrips, 0.2 * each_trip * kTrips);
  if (kSanitized) return;
  EXPECT_LT(best_seconds(program, 0.8 * at_most * kTrips), at_most * kTrips) << "predicted to take " << predicted;
}

TEST_P(OverlappingCalls, AsynchronousOnesTakeTheTimeOfOneForEveryNumberOfWorkers) {
  expect_seconds(compiled(four_calls(true), options_for(GetParam())), kCallSeconds, 2.5 * kCallSeconds);
  expect_seconds(compiled(four_calls(true), options_for(GetParam(), 2)), kCallSeconds, 2.5 * kCallSeconds);
}

TEST_P(OverlappingCalls, BlockingOnesTakeTheTimeOfOneWithAsManyWorkers) {
  expect_seconds(compiled(four_calls(false), options_for(GetParam(), 4)), kCallSeconds, 2.5 * kCallSeconds);
  expect_seconds(compiled(four_calls(false), options_for(GetParam(), 2)), 2 * kCallSeconds, 3.5 * kCallSeconds);
  EXPECT_NEAR(compiled(four_calls(false), options_for(GetParam())).plan().predicted_seconds, 4 * kCallSeconds * kTrips,
              0.4 * kCallSeconds * kTrips);
}

TEST(OverlappingCallsOnTheVirtualClock, TakeWhatIsPredicted) {
  for (const bool asynchronous : {true, false}) {
    for (const int workers : {1, 2, 3, 8}) {
      SCOPED_TRACE((asynchronous ? "asynchronous, workers: " : "blocking, workers: ") + std::to_string(workers));
      const Executable program = compiled(four_calls(asynchronous), options_for("simulated", workers));
      const Result<RunResult> result = program.run({{"x", tenths()}});
      ASSERT_TRUE(result.ok()) << result.error().message;
      const int rounds = asynchronous ? 1 : (4 + workers - 1) / workers;
      EXPECT_NEAR(result->simulated_seconds, rounds * kCallSeconds * kTrips, 0.2 * kCallSeconds * kTrips);
      EXPECT_NEAR(result->simulated_seconds, program.plan().predicted_seconds, 0.01 * program.plan().predicted_seconds);
    }
  }
}

/// The threads that call a function, and the largest number of concurrent calls.
struct Callers {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int now = 0, most = 0;
  void enter() {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    most = std::max(most, ++now);
  }
  void leave() {
    const std::lock_guard lock(mutex);
    --now;
  }
};

/// Six calls that do not depend on each other.
template <class Function>
Graph six_calls(const Function& function) {
  return trace("six", {{"x", "f32[8]"}}, [&](Tensor x) {
    Tensor sum = x;
    for (int k = 0; k < 6; ++k)
      sum = sum + host_call("f" + std::to_string(k), {"f32[8]"}, {.pure = true, .seconds = 5e-3}, function, x * static_cast<float>(k));
    return named("y", sum);
  });
}

Array ones() {
  return Array::of<float>({8}, std::vector<float>(8, 1));
}

TEST_P(OverlappingCalls, BlockingOnesAreCalledOnOneThreadUnlessWorkersAreAskedFor) {
  Callers callers;
  const Graph graph = six_calls([&](std::span<const float> in, std::span<float> out) {
    callers.enter();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    tenth(in, out);
    callers.leave();
  });
  ASSERT_TRUE(compiled(graph, options_for(GetParam())).run({{"x", ones()}}).ok());
  EXPECT_EQ(callers.most, 1);
  EXPECT_EQ(callers.threads, std::set{std::this_thread::get_id()});
  callers.threads.clear();
  ASSERT_TRUE(compiled(graph, options_for(GetParam(), 3)).run({{"x", ones()}}).ok());
  EXPECT_GE(callers.most, 2);
  EXPECT_LE(callers.most, 3);
  EXPECT_FALSE(callers.threads.contains(std::this_thread::get_id()));
}

TEST_P(OverlappingCalls, AsynchronousOnesAreBegunOnTheRunsThread) {
  Callers callers;
  std::vector<HostToken> under_way;
  const Graph graph = six_calls([&](std::span<const float> in, std::span<float> out, HostToken token) {
    callers.enter();
    tenth(in, out);
    under_way.push_back(std::move(token));
    if (under_way.size() < 6) return;  // the first call ends only when all six have begun
    for (const HostToken& each : under_way) each.done();
    under_way.clear();
  });
  const Result<RunResult> result = compiled(graph, options_for(GetParam())).run({{"x", ones()}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_NEAR(result->output("y")->at(0), 1 + 0.1 * (0 + 1 + 2 + 3 + 4 + 5), 1e-5);
  EXPECT_EQ(callers.threads, std::set{std::this_thread::get_id()});
}

TEST_P(OverlappingCalls, HaveLanesOfATraceToThemselves) {
  for (const bool asynchronous : {true, false}) {
    SCOPED_TRACE(asynchronous ? "asynchronous" : "blocking");
    RunOptions options{.inputs = {{"x", tenths()}}, .timeline = true};
    const Result<RunResult> result = compiled(four_calls(asynchronous), options_for(GetParam(), 4)).run(options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    std::map<int, double> ends;
    for (const TimelineEvent& event : result->timeline.events) {
      if (event.lane != TimelineEvent::Lane::calls) continue;
      EXPECT_GE(event.start_seconds, ends[event.number]) << event.number;
      ends[event.number] = event.end_seconds;
    }
    EXPECT_EQ(ends.size(), 4U);
  }
}

TEST_P(OverlappingCalls, GiveTheSameResultsForEveryNumberOfWorkers) {
  const Graph graph = four_calls(false);
  const Result<RunResult> alone = compiled(graph, options_for(GetParam(), 1)).run({{"x", tenths()}});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  for (const int workers : {2, 8}) {
    const Result<RunResult> together = compiled(graph, options_for(GetParam(), workers)).run({{"x", tenths()}});
    ASSERT_TRUE(together.ok()) << together.error().message;
    EXPECT_TRUE(*together->output("y") == *alone->output("y")) << workers;
  }
}

/// The names of the called functions, in order.
struct Log {
  std::mutex mutex;
  std::vector<std::string> names;
  void add(const std::string& name) {
    const std::lock_guard lock(mutex);
    names.push_back(name);
  }
};

TEST_P(OverlappingCalls, EffectsKeepTheirOrderAndComeBehindWhatStandsBeforeThem) {
  Log log;
  const auto effect = [&](const std::string& name) {
    return [&log, name](std::span<const float> in, std::span<float> out) {
      log.add(name);
      std::copy(in.begin(), in.end(), out.begin());
    };
  };
  const auto pure = [&](const std::string& name, int milliseconds) {
    return [&log, name, milliseconds](std::span<const float> in, std::span<float> out) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      log.add(name);
      std::copy(in.begin(), in.end(), out.begin());
    };
  };
  const HostOptions takes_time{.pure = true, .seconds = 1e-2};
  const Graph graph = trace("effects", {{"x", "f32[8]"}}, [&](Tensor x) {
    const Tensor slow = host_call("slow", {"f32[8]"}, takes_time, pure("slow", 40), x);
    const Tensor quick = host_call("quick", {"f32[8]"}, takes_time, pure("quick", 1), x);
    const Tensor first = host_call("first", {"f32[8]"}, effect("first"), x);
    const Tensor second = host_call("second", {"f32[8]"}, effect("second"), x * 2);
    const Tensor last = host_call("last", {"f32[8]"}, takes_time, pure("last", 1), x);
    return named("y", slow + quick + first + second + last);
  });
  const Result<RunResult> result = compiled(graph, options_for(GetParam(), 8)).run({{"x", ones()}});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->output("y")->at(7), 6);
  EXPECT_THAT(log.names, ElementsAre("quick", "slow", "first", "second", "last"));
}

TEST_P(OverlappingCalls, TheFirstErrorInTheProgramIsTold) {
  Log log;
  const auto failing = [](const std::string& name, int milliseconds) {
    return [name, milliseconds](std::span<const float>, std::span<float>) -> Status {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      return Error{name + " has failed"};
    };
  };
  const HostOptions takes_time{.pure = true, .seconds = 1e-2};
  const Graph graph = trace("failing", {{"x", "f32[8]"}}, [&](Tensor x) {
    const Tensor a = host_call("a", {"f32[8]"}, takes_time, failing("a", 50), x);
    const Tensor b = host_call("b", {"f32[8]"}, takes_time, failing("b", 1), x);
    host_call(
        "effect", {}, [&](std::span<const float>) { log.add("effect"); }, x);
    return named("y", a + b);
  });
  const Executable program = compiled(graph, options_for(GetParam(), 8));
  for (int i = 0; i < 3; ++i) {
    const Result<RunResult> result = program.run({{"x", ones()}});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("a has failed"));
  }
  EXPECT_TRUE(log.names.empty()) << "no effect behind what has failed";
}

/// The first call fails late, the second at once; nothing behind them is executed.
TEST_P(OverlappingCalls, TheFirstErrorInTheProgramIsToldOfAsynchronousOnes) {
  Log log;
  std::vector<std::thread> threads;
  const auto failing = [&](const std::string& name, int milliseconds) {
    return [&threads, name, milliseconds](std::span<const float>, std::span<float>, HostToken token) {
      threads.emplace_back([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        token.fail(name + " has failed");
      });
    };
  };
  const auto throws = [](std::span<const float>, std::span<float>, HostToken) { throw std::runtime_error("it did not begin"); };
  for (const bool begins : {true, false}) {
    SCOPED_TRACE(begins);
    const Graph graph = trace("failing", {{"x", "f32[8]"}}, [&](Tensor x) {
      const Tensor a = host_call("a", {"f32[8]"}, {.pure = true}, failing("a", 30), x);
      const Tensor b =
          begins ? host_call("b", {"f32[8]"}, {.pure = true}, failing("b", 0), x) : host_call("b", {"f32[8]"}, {.pure = true}, throws, x);
      host_call(
          "effect", {}, [&](std::span<const float>) { log.add("effect"); }, x);
      return named("y", a + b);
    });
    const Result<RunResult> result = compiled(graph, options_for(GetParam())).run({{"x", ones()}});
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("a has failed"));
  }
  EXPECT_TRUE(log.names.empty());
}

/// The host polls for a reply after finishing earlier work; a deadline applies to the time at which the reply came.
TEST_P(OverlappingCalls, ADeadlineIsTheCallsAndNotTheLooks) {
  for (const int milliseconds : {1, 60}) {
    SCOPED_TRACE(milliseconds);
    std::thread thread;
    const Graph graph = trace("late", {{"x", "f32[8]"}}, [&](Tensor x) {
      const Tensor a = host_call(
          "answers", {"f32[8]"}, {.pure = true, .deadline = 0.03},
          [&thread, milliseconds](std::span<const float> in, std::span<float> out, HostToken token) {
            tenth(in, out);
            thread = std::thread([=] {
              std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
              token.done();
            });
          },
          x);
      const Tensor b = host_call(
          "blocks", {"f32[8]"}, {.pure = true},
          [](std::span<const float> in, std::span<float> out) {
            std::this_thread::sleep_for(std::chrono::milliseconds(120));
            tenth(in, out);
          },
          x);
      return named("y", b + a);
    });
    const Result<RunResult> result = compiled(graph, options_for(GetParam())).run({{"x", ones()}});
    thread.join();
    EXPECT_EQ(result.ok(), milliseconds == 1) << "a busy machine may be late itself: " << (result.ok() ? "" : result.error().message);
    if (result.ok()) continue;
    EXPECT_THAT(result.error().message, HasSubstr("within its deadline of 30 ms"));
  }
}

TEST_P(OverlappingCalls, TheOneThatNeverAnswersIsNamed) {
  std::mutex mutex;
  std::vector<HostToken> kept;
  const auto answers = [](std::span<const float> in, std::span<float> out, HostToken token) {
    tenth(in, out);
    token.done();
  };
  const auto hangs = [&](std::span<const float>, std::span<float>, HostToken token) {
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(token));
  };
  const Graph graph = trace("hanging", {{"x", "f32[8]"}}, [&](Tensor x) {
    const Tensor a = host_call("answering", {"f32[8]"}, {.pure = true}, answers, x);
    const Tensor b = host_call("hanging", {"f32[8]"}, {.pure = true}, hangs, x);
    const Tensor c = host_call("answering too", {"f32[8]"}, {.pure = true}, answers, x);
    return named("y", a + b + c);
  });
  CompileOptions options = options_for(GetParam());
  options.executor.watchdog_seconds = 0.2;
  const Result<RunResult> late = compiled(graph, options).run({{"x", ones()}});
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("`hanging`"));
  EXPECT_THAT(late.error().message, HasSubstr("did not complete its token within 0.20 s"));

  options.executor.watchdog_seconds = 1000;
  const Executable program = compiled(graph, options);
  kept.clear();
  cleave::Run run = program.submit({{"x", ones()}});
  const auto begun = [&] {
    const std::lock_guard lock(mutex);
    return !kept.empty();
  };
  while (!begun()) std::this_thread::yield();
  run.cancel();
  ASSERT_TRUE(run.wait_until(Clock::now() + std::chrono::seconds(60)));
  EXPECT_EQ(run.wait().error().message, "cancelled");
}

/// Chains of calls and element-wise work in loops and branches, whose buffers the memory plan shares: results equal those of sequential
/// execution.
TEST_P(OverlappingCalls, ManyInLoopsAndBranchesFindTheirMemory) {
  const auto busy = [](float factor, int microseconds) {
    return [factor, microseconds](std::span<const float> in, std::span<float> out) {
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * factor + 0.25F;
    };
  };
  const HostOptions takes_time{.pure = true, .seconds = 2e-4};
  const Graph graph = trace("many", {{"x", "f32[100]"}}, [&](Tensor x) {
    return named("y", for_loop(draws(20), x, [&](Tensor trip, Tensor w) {
                   Tensor sum = w * 0.5F;
                   Tensor unread = host_call("unread", {"f32[100]"}, takes_time, busy(2, 300), w + 3);
                   for (int k = 0; k < 5; ++k) {
                     const auto factor = 0.1F * static_cast<float>(k + 1);
                     const Tensor a = host_call("a" + std::to_string(k), {"f32[100]"}, takes_time, busy(factor, 150 * (5 - k)), w * factor);
                     const Tensor b = host_call("b" + std::to_string(k), {"f32[100]"}, takes_time, busy(factor, 50), a + w);
                     sum = tanh(sum + b) * 0.9F;
                   }
                   const Tensor chosen = cond(
                       trip % 2 == 0, [&] { return host_call("then", {"f32[100]"}, takes_time, busy(0.5F, 100), sum) + sum; },
                       [&] { return sum - 0.1F; });
                   return chosen + unread * 0.01F;
                 }));
  });
  const Array x = Array::of<float>({100}, std::vector<float>(100, 0.3F));
  const Result<RunResult> expected = compiled(graph, options_for(GetParam(), 1)).run({{"x", x}});
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  for (const int workers : {2, 8}) {
    CompileOptions options = options_for(GetParam(), workers);
    options.executor.check_memory = std::string(GetParam()) == "simulated";
    const Executable program = compiled(graph, options);
    for (int i = 0; i < 3; ++i) {
      const Result<RunResult> result = program.run({{"x", x}});
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_TRUE(*result->output("y") == *expected->output("y")) << workers << " workers";
    }
  }
}

TEST(OverlappingCallsOption, NoNegativeNumberOfWorkers) {
  CompileOptions options{.device = "none"};
  options.executor.workers = -1;
  const Result<Executable> program = compile(four_calls(false), options);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, "the number of workers is -1; it is at least 0");
}

}  // namespace
}  // namespace cleave::testing
