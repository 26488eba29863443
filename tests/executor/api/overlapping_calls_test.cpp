// Pure host functions that are under way together: how long that takes on either clock, what keeps its order, and whose error is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/compiled.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr double kCallSeconds = 1e-2;

void tenth(std::span<const float> in, std::span<float> out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * 0.1F;
}

/// Four calls that do not depend on each other, and what needs all of them, in each of ten trips.
Graph four_calls(bool asynchronous) {
  return trace("four", {{"x", "f32[64, 64]"}}, [&](Tensor x) {
    return named("y", for_loop(10, x, [&](Tensor, Tensor w) {
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

CompileOptions options_for(const std::string& device, int workers = 8) {
  CompileOptions options{.device = device, .placement = device == "none" ? Policy::host : Policy::accelerator};
  options.executor.workers = workers;
  return options;
}

Array tenths() {
  return Array::of<float>({64, 64}, std::vector<float>(64 * 64, 0.1F));
}

class OverlappingCalls : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, OverlappingCalls, ::testing::Values("none", "simulated"));

/// The shortest of a few runs: the machine may be busy.
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

TEST_P(OverlappingCalls, FourIndependentOnesTakeTheTimeOfOne) {
  for (const bool asynchronous : {true, false}) {
    SCOPED_TRACE(asynchronous ? "asynchronous" : "blocking");
    const Executable together = compiled(four_calls(asynchronous), options_for(GetParam()));
    EXPECT_LT(best_seconds(together, 0.2), 0.25) << "0.40 one after the other";
    EXPECT_NEAR(together.plan().predicted_seconds, 0.1, 0.02);
    const Executable two = compiled(four_calls(asynchronous), options_for(GetParam(), 2));
    EXPECT_NEAR(two.plan().predicted_seconds, 0.2, 0.02);
    const Executable alone = compiled(four_calls(asynchronous), options_for(GetParam(), 1));
    EXPECT_NEAR(alone.plan().predicted_seconds, 0.4, 0.02);
  }
}

TEST(OverlappingCallsOnTheVirtualClock, TakeWhatIsPredicted) {
  for (const int workers : {1, 2, 3, 8}) {
    SCOPED_TRACE(workers);
    const Executable program = compiled(four_calls(false), options_for("simulated", workers));
    const Result<RunResult> result = program.run({{"x", tenths()}});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_NEAR(result->simulated_seconds, program.plan().predicted_seconds, 0.01 * program.plan().predicted_seconds);
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

/// Notes who is called, in order.
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
  const Result<RunResult> result = compiled(graph, options_for(GetParam())).run({{"x", Array::of<float>({8}, std::vector<float>(8, 1))}});
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
  const Executable program = compiled(graph, options_for(GetParam()));
  for (int i = 0; i < 3; ++i) {
    const Result<RunResult> result = program.run({{"x", Array::of<float>({8}, std::vector<float>(8, 1))}});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("a has failed"));
  }
  EXPECT_TRUE(log.names.empty()) << "no effect behind what has failed";
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
  const Result<RunResult> late = compiled(graph, options).run({{"x", Array::of<float>({8}, std::vector<float>(8, 1))}});
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("`hanging`"));
  EXPECT_THAT(late.error().message, HasSubstr("did not complete its token within 0.20 s"));

  options.executor.watchdog_seconds = 1000;
  const Executable program = compiled(graph, options);
  kept.clear();
  cleave::Run run = program.submit({{"x", Array::of<float>({8}, std::vector<float>(8, 1))}});
  const auto begun = [&] {
    const std::lock_guard lock(mutex);
    return !kept.empty();
  };
  while (!begun()) std::this_thread::yield();
  run.cancel();
  ASSERT_TRUE(run.wait_until(Clock::now() + std::chrono::seconds(60)));
  EXPECT_EQ(run.wait().error().message, "cancelled");
}

/// Chains of calls and element-wise work in loops and branches, whose memory the plan shares: results as with one after the other.
TEST_P(OverlappingCalls, ManyInLoopsAndBranchesFindTheirMemory) {
  const auto busy = [](float factor, int microseconds) {
    return [factor, microseconds](std::span<const float> in, std::span<float> out) {
      std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * factor + 0.25F;
    };
  };
  const HostOptions takes_time{.pure = true, .seconds = 2e-4};
  const Graph graph = trace("many", {{"x", "f32[100]"}}, [&](Tensor x) {
    return named("y", for_loop(12, x, [&](Tensor trip, Tensor w) {
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

TEST(OverlappingCallsOption, AtLeastOneWorker) {
  CompileOptions options{.device = "none"};
  options.executor.workers = 0;
  const Result<Executable> program = compile(four_calls(false), options);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, "the number of workers is 0; it is at least 1");
}

}  // namespace
}  // namespace cleave::testing
