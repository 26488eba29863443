// Many submitted runs at once, with few threads available: each run ends, queued runs can be cancelled, and a shortage of threads is an
// Error that leaks nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "executor/api/executable.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/few_threads.h"
#include "tests/support/namespaces.h"
#include "tests/support/pinned.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kThreadsAnExecutor = 6;  // a run of it: three streams, a driver, the watchdog, early outputs

Executable compiled(const Graph& graph, const CompileOptions& options = {}) {
  Result<Executable> program = compile(graph, options);
  if (!program) ADD_FAILURE() << to_string(program.error().location) << ": " << program.error().message;
  return *program;
}

CompileOptions simulated(int runs_at_once = 32) {
  CompileOptions options{.device = "simulated", .placement = Policy::accelerator};
  options.runs_at_once = runs_at_once;
  return options;
}

/// y = 2 x, on the accelerator.
Graph doubling() {
  return trace("doubling", {{"x", "f32[]"}}, [](Tensor x) { return named("y", on_accelerator([&] { return x * 2; })); });
}

std::map<std::string, Array> input(double x) {
  return {{"x", Array::scalar(static_cast<float>(x))}};
}

/// A host function that signals its call and returns once it is allowed to.
struct Gate {
  std::shared_ptr<std::atomic<int>> called = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<bool>> opened = std::make_shared<std::atomic<bool>>(false);

  ~Gate() { open(); }
  void open() const { *opened = true; }
  void wait_for_calls(int calls) const {
    while (*called < calls) std::this_thread::yield();
  }
  [[nodiscard]] Graph graph() const {
    return trace("gated", {{"x", "f32[]"}}, [this](Tensor x) {
      return named("y", host_call(
                            "gate", {"f32[]"},
                            [called = called, opened = opened](std::span<const float> in, std::span<float> out) {
                              ++*called;
                              while (!*opened) std::this_thread::yield();
                              out[0] = in[0];
                            },
                            x));
    });
  }
};

TEST(Runs, ABurstLeavesFewThreadsAndEveryRunEndsWell) {
  std::thread([] {}).join();  // with the first thread, a sanitizer starts one of its own
  const int before = count_threads();
  CompileOptions options = simulated(8);
  options.idle_executors = 2;
  {
    const Executable program = compiled(doubling(), options);
    int most = 0;
    std::vector<cleave::Run> runs;
    for (int i = 0; i < 3000; ++i) {
      runs.push_back(program.submit(input(i)));
      if (i % 64 == 0) most = std::max(most, count_threads());
    }
    for (int i = 0; i < 3000; ++i) {
      const Result<RunResult>& result = runs[static_cast<std::size_t>(i)].wait();
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(result->output("y")->at(0), 2 * i);
    }
    EXPECT_LE(most, before + 8 * (kThreadsAnExecutor + 1));
    runs.clear();
    EXPECT_LE(count_threads(), before + 2 * kThreadsAnExecutor);
  }
  EXPECT_EQ(count_threads(), before);
}

TEST(Runs, SoManyAtOnceTheOthersInTheirOrder) {
  auto under_way = std::make_shared<std::atomic<int>>(0), most = std::make_shared<std::atomic<int>>(0);
  auto order = std::make_shared<std::vector<float>>();
  auto lock = std::make_shared<std::mutex>();
  const Graph graph = trace("counts", {{"x", "f32[]"}}, [&](Tensor x) {
    return host_call(
        "count", {"f32[]"},
        [=](std::span<const float> in, std::span<float> out) {
          const int now = ++*under_way;
          {
            const std::lock_guard hold(*lock);
            order->push_back(in[0]);
            *most = std::max(most->load(), now);
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          out[0] = in[0];
          --*under_way;
        },
        x);
  });
  for (const int at_once : {1, 3}) {
    *most = 0;
    order->clear();
    const Executable program = compiled(graph, simulated(at_once));
    std::vector<cleave::Run> runs;
    for (int i = 0; i < 20; ++i) runs.push_back(program.submit(input(i)));
    for (const cleave::Run& run : runs)
      while (!run.ready()) std::this_thread::yield();  // polls without waiting, so that no run gets priority
    EXPECT_EQ(*most, at_once);
    if (at_once == 1) {
      EXPECT_TRUE(std::is_sorted(order->begin(), order->end()));
    }
  }
}

TEST(Runs, WhatWaitsForItsTurnIsCancelledWithoutARun) {
  Gate gate;
  const Executable program = compiled(gate.graph(), simulated(1));
  cleave::Run first = program.submit(input(1)), second = program.submit(input(2)), third = program.submit(input(3));
  const Gate opened_last = gate;
  gate.wait_for_calls(1);
  second.cancel();
  ASSERT_TRUE(second.ready());
  EXPECT_EQ(second.wait().error().message, "cancelled");
  EXPECT_FALSE(second.get("y").ok());
  EXPECT_FALSE(first.ready());
  gate.open();
  EXPECT_TRUE(first.wait().ok());
  EXPECT_EQ(third.get("y")->at(0), 3);
  EXPECT_EQ(*gate.called, 2);
}

TEST(Runs, ThatWaitForOtherRunsOfTheSameProgramDoNotBlockEachOther) {
  // Each run submits the next one from inside and waits for it, although only one run at a time can have a thread.
  const Executable* self = nullptr;
  const Graph graph = trace("nested", {{"x", "f32[]"}}, [&](Tensor x) {
    return named("y", host_call(
                          "descend", {"f32[]"},
                          [&self](std::span<const float> in, std::span<float> out) -> Status {
                            if (in[0] == 0) return {};
                            const cleave::Run inner = self->submit(input(in[0] - 1));
                            const Result<RunResult>& result = inner.wait();
                            if (!result) return result.error();
                            out[0] = 1 + static_cast<float>(result->output("y")->at(0));
                            return {};
                          },
                          x));
  });
  const Executable program = compiled(graph, simulated(1));
  self = &program;
  std::vector<cleave::Run> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(program.submit(input(6)));
  for (const cleave::Run& run : runs) {
    ASSERT_TRUE(run.wait().ok()) << run.wait().error().message;
    EXPECT_EQ(run.get("y")->at(0), 6);
  }
}

TEST(Runs, OutliveTheirExecutableAlsoWhileTheyWait) {
  const Gate gate;
  std::vector<cleave::Run> runs;
  {
    const Executable program = compiled(gate.graph(), simulated(1));
    for (int i = 0; i < 4; ++i) runs.push_back(program.submit(input(i)));
  }
  gate.open();
  for (int i = 3; i >= 0; --i) EXPECT_EQ(runs[static_cast<std::size_t>(i)].get("y")->at(0), i);
}

TEST(Runs, AreWaitedForByTheirDestructors) {
  const Gate gate;
  const Executable program = compiled(gate.graph(), simulated(1));
  gate.open();
  for (int i = 0; i < 50; ++i) {
    const cleave::Run first = program.submit(input(1)), second = program.submit(input(2));
    cleave::Run third = program.submit(input(3));
    if (i % 2 == 0) third.cancel();
  }
  EXPECT_GE(*gate.called, 100);
}

TEST(Runs, ALostAcceleratorIsOpenedAnewByTheNextRun) {
  CompileOptions options = simulated();
  options.executor.inject = "lost:5";  // a run is a transfer, a kernel and a transfer: in the second one
  const Executable program = compiled(doubling(), options);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(program.run(input(1)).ok());
    const Result<RunResult> lost = program.run(input(1));
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().kind, ErrorKind::machine);
    EXPECT_THAT(lost.error().message, HasSubstr("lost"));
  }
}

// --- few threads -------------------------------------------------------------------------------------------------------------------------

void expect_shortage(const Error& error) {
  EXPECT_EQ(error.kind, ErrorKind::machine);
  EXPECT_THAT(error.message, HasSubstr("no further thread"));
}

TEST(ShortOfThreads, CompilingSaysSoAndLeavesNothing) {
  const int before = count_threads();
  int failures = 0;
  for (int more = 0;; ++more) {
    const FewThreads few(more);
    const Result<Executable> program = compile(doubling(), simulated());
    if (program) {
      EXPECT_EQ(more, kThreadsAnExecutor - 1) << "early outputs are for runs that are asked for one";
      break;
    }
    ++failures;
    expect_shortage(program.error());
    EXPECT_EQ(count_threads(), before);
  }
  EXPECT_GT(failures, 0);
}

TEST(ShortOfThreads, RunsEndWithAnErrorOrTheirResultAndTheNextOnesWork) {
  const Executable program = compiled(doubling(), simulated());
  const int before = count_threads();
  for (int more = 0; more < 30; ++more) {
    int good = 0, bad = 0;
    {
      const FewThreads few(more);
      std::vector<cleave::Run> runs;
      for (int i = 0; i < 5; ++i) runs.push_back(program.submit(input(i)));
      for (int i = 0; i < 5; ++i) {
        const Result<RunResult>& result = runs[static_cast<std::size_t>(i)].wait();
        result ? ++good : ++bad;
        if (!result) {
          expect_shortage(result.error());
        } else {
          EXPECT_EQ(result->output("y")->at(0), 2 * i);
        }
      }
      EXPECT_TRUE(program.run(input(1)).ok()) << "needs no thread that is not there";
    }
    if (more == 0) {
      EXPECT_EQ(bad, 5);
    }
    if (more >= 2) {
      EXPECT_GE(good, 1);
    }
    EXPECT_LE(count_threads(), before + 4 * kThreadsAnExecutor);
    ASSERT_EQ(program.submit(input(4)).get("y")->at(0), 8);
  }
}

TEST(ShortOfThreads, ARunThatIsAskedForOutputsEarlyNeedsOneMore) {
  const Executable program = compiled(doubling(), simulated());
  RunOptions options;
  options.inputs = input(3);
  double told = 0;
  options.on_output = [&](std::string_view, const Array& array) { told = array.at(0); };
  {
    const FewThreads few(0);
    const Result<RunResult> result = program.run(options);
    ASSERT_FALSE(result.ok());
    expect_shortage(result.error());
    EXPECT_GE(few.refused(), 1);
    EXPECT_TRUE(program.run(input(1)).ok());
  }
  EXPECT_TRUE(program.run(options).ok());
  EXPECT_EQ(told, 6);
}

}  // namespace
}  // namespace cleave::testing
