// Host functions that take too long or never complete their token: each run ends and names the place, and a late completion does no harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "executor/api/executable.h"
#include "executor/check/reference.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/compiled.h"
#include "tests/support/pinned.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using Asynchronous = std::function<void(std::span<const float>, std::span<float>, HostToken)>;
using Synchronous = std::function<void(std::span<const float>, std::span<float>)>;

int called_at = 0;  // the line of the host_call

/// y = f(2 x) + 1, with the operations around the host function on the accelerator.
template <class F>
Graph calling(F f, const HostOptions& options) {
  return trace("calling", {{"x", "f32[64]"}}, [&](Tensor x) {
    const Tensor doubled = on_accelerator([&] { return x * 2; });
    called_at = __LINE__ + 1;
    const Tensor answer = host_call("plant", {"f32[64]"}, options, f, doubled);
    return named("y", on_accelerator([&] { return answer + 1; }));
  });
}

Executable compiled_with_watchdog(const Graph& graph, const char* device, double watchdog_seconds) {
  CompileOptions options{.device = device};
  options.executor.watchdog_seconds = watchdog_seconds;
  return compiled(graph, options);
}

std::map<std::string, Array> input_of_threes() {
  return {{"x", Array::of<float>({64}, std::vector<float>(64, 3))}};
}

void expect_late(const Error& error, const char* what) {
  EXPECT_EQ(error.kind, ErrorKind::machine);
  EXPECT_EQ(error.location.line, called_at);
  EXPECT_THAT(error.message, HasSubstr("plant"));
  EXPECT_THAT(error.message, HasSubstr(what));
}

/// Keeps its tokens, for calls that are never completed, or that the test completes later.
struct Kept {
  struct Call {
    std::span<const float> in;
    std::span<float> out;
    HostToken token;
  };
  std::vector<Call> calls;
  std::atomic<int> count = 0;

  Asynchronous function() {
    return [this](std::span<const float> in, std::span<float> out, HostToken token) {
      calls.push_back({in, out, std::move(token)});
      ++count;
    };
  }
  void complete() {
    for (const Call& call : calls) {
      for (std::size_t i = 0; i < call.in.size(); ++i) call.out[i] = call.in[i];
      call.token.done();
    }
    calls.clear();
  }
};

class Deadline : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, Deadline, ::testing::Values("simulated", "none"));

TEST_P(Deadline, ATokenThatIsNeverCompletedEndsWithTheWatchdogsPatience) {
  Kept kept;
  const Executable program = compiled_with_watchdog(calling(kept.function(), {}), GetParam(), 0.2);
  const Result<RunResult> result = program.run(input_of_threes());
  ASSERT_FALSE(result.ok());
  expect_late(result.error(), "did not complete its token within 0.20 s; if it may take longer, give it a `deadline` of its own");
}

TEST_P(Deadline, OfItsOwnEndsTheWaitOrMakesItLonger) {
  Kept kept;
  const Executable program = compiled_with_watchdog(calling(kept.function(), {.deadline = 0.1}), GetParam(), 1000);
  const auto start = Clock::now();
  const Result<RunResult> result = program.run(input_of_threes());
  EXPECT_LT(Seconds(Clock::now() - start).count(), 60);
  ASSERT_FALSE(result.ok());
  expect_late(result.error(), "did not complete its token within its deadline of 0.10 s");

  const Asynchronous slow = [](std::span<const float> in, std::span<float> out, HostToken token) {
    std::thread([=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      std::copy(in.begin(), in.end(), out.begin());
      token.done();
    }).detach();
  };
  const Result<RunResult> good = compiled_with_watchdog(calling(slow, {.deadline = 1000}), GetParam(), 0.5).run(input_of_threes());
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good->output("y")->at(63), 7);
}

TEST_P(Deadline, CancellingEndsTheWaitAtOnce) {
  Kept kept;
  const Executable program = compiled_with_watchdog(calling(kept.function(), {}), GetParam(), 1000);
  for (int calls = 1; calls <= 3; ++calls) {
    cleave::Run run = program.submit(input_of_threes());
    while (kept.count < calls) std::this_thread::yield();
    run.cancel();
    ASSERT_TRUE(run.wait_until(Clock::now() + std::chrono::seconds(60)));
    EXPECT_EQ(run.wait().error().message, "cancelled");
  }
}

TEST_P(Deadline, DestroyingTheRunWaitsNoLongerThanTheLimit) {
  Kept kept;
  const Executable program = compiled_with_watchdog(calling(kept.function(), {}), GetParam(), 0.1);
  const auto start = Clock::now();
  { const cleave::Run run = program.submit(input_of_threes()); }
  EXPECT_LT(Seconds(Clock::now() - start).count(), 60);
  EXPECT_EQ(kept.count, 1);
}

TEST_P(Deadline, WhatIsCompletedTooLateIsIgnoredAndFindsItsMemory) {
  Kept kept;
  std::optional<Executable> program = compiled_with_watchdog(calling(kept.function(), {}), GetParam(), 1000);
  for (int round = 0; round < 3; ++round) {
    cleave::Run run = program->submit(input_of_threes());
    while (kept.count == 2 * round) std::this_thread::yield();
    run.cancel();
    ASSERT_FALSE(run.wait().ok());
    // The next run works on the same executor while the call of the first one goes on.
    cleave::Run next = program->submit(input_of_threes());
    while (kept.count == 2 * round + 1) std::this_thread::yield();
    std::thread late([call = kept.calls.front()] {
      for (int again = 0; again < 100; ++again)
        for (std::size_t i = 0; i < call.in.size(); ++i) call.out[i] = call.in[i] * 1000;
      call.token.done();
    });
    kept.calls.erase(kept.calls.begin());
    kept.complete();
    ASSERT_TRUE(next.wait().ok()) << next.wait().error().message;
    EXPECT_EQ(next.get("y")->at(5), 7);
    late.join();
  }
  cleave::Run run = program->submit(input_of_threes());
  while (kept.count == 6) std::this_thread::yield();
  run.cancel();
  ASSERT_FALSE(run.wait().ok());
  program.reset();
  kept.complete();  // long after everything else is gone
}

TEST_P(Deadline, ASynchronousFunctionIsFoundOutOnceItIsBack) {
  std::atomic<int> milliseconds = 300;
  const Synchronous slow = [&milliseconds](std::span<const float> in, std::span<float> out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    std::copy(in.begin(), in.end(), out.begin());
  };
  const Executable program = compiled_with_watchdog(calling(slow, {.deadline = 0.2}), GetParam(), 1000);
  const Result<RunResult> result = program.run(input_of_threes());
  ASSERT_FALSE(result.ok());
  expect_late(result.error(), "longer than its deadline of 0.20 s; it could not be ended before it came back");
  milliseconds = 0;
  EXPECT_TRUE(program.run(input_of_threes()).ok());
}

TEST(Deadlines, AnEarlierErrorEndsTheWait) {
  Kept kept;
  const Graph graph = trace("t", {{"x", "f32[64]"}}, [&](Tensor x) {
    const Tensor fails = on_accelerator([&] { return x * 2; });
    const Tensor waits = host_call("plant", {"f32[64]"}, kept.function(), x);
    return std::tuple(fails, waits);
  });
  CompileOptions options{.device = "simulated"};
  options.executor.watchdog_seconds = 1000;
  options.executor.inject = "kernel:1";
  const Result<RunResult> result = compile(graph, options)->run(input_of_threes());
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("kernel 1 failed"));
}

TEST(Deadlines, HoldInVerifyModeAndInTheReferenceToo) {
  int calls = 0;
  std::vector<HostToken> kept;
  const Asynchronous once = [&](std::span<const float> in, std::span<float> out, HostToken token) {
    std::copy(in.begin(), in.end(), out.begin());
    if (++calls == 1) return token.done();
    kept.push_back(token);
  };
  const Graph graph = calling(once, {.pure = true, .deadline = 0.1});
  RunOptions options;
  options.inputs = input_of_threes();
  options.verify = true;
  const Result<RunResult> verified = compiled_with_watchdog(graph, "simulated", 1000).run(options);
  ASSERT_FALSE(verified.ok());
  expect_late(verified.error(), "its deadline of 0.10 s");
  EXPECT_EQ(calls, 2);
  const Result<RunResult> reference = runtime::run_reference(graph, options);
  ASSERT_FALSE(reference.ok());
  expect_late(reference.error(), "its deadline of 0.10 s");
}

TEST(Deadlines, ArePositive) {
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const Graph graph = calling([](std::span<const float>, std::span<float>) {}, {.deadline = seconds});
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.diagnostics.begin()->message, "the `deadline` of host function `plant` is no positive number of seconds");
    EXPECT_EQ(graph.diagnostics.begin()->location.line, called_at);
  }
}

}  // namespace
}  // namespace cleave::testing
