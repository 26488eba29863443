// Child processes made by fork: they have none of their parent's threads and start their own. Also the threads of an idle process: their
// number does not depend on the number of programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

#include "executor/api/executable.h"
#include "executor/api/specialized.h"
#include "executor/device/workers.h"
#include "graph/ops/ops.h"
#include "graph/states.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/compiled.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

struct Child {
  int code = -1;     ///< exit code; -1: the child hung or crashed
  std::string said;  ///< standard error, or the message of `work`
};

/// The message that `work` returns in a child of this process; the child's exit code is 0 if it is empty.
Child in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    dup2(ends[1], STDERR_FILENO);
    const std::string said = work();
    std::fputs(said.c_str(), stderr);
    _exit(said.empty() ? 0 : 3);
  }
  close(ends[1]);
  Child result;
  char block[4096];
  for (ssize_t count; (count = read(ends[0], block, sizeof block)) > 0;) result.said.append(block, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

void expect_silent(const Child& child) {
  EXPECT_EQ(child.code, 0) << child.said;
  EXPECT_EQ(child.said, "");
}

constexpr std::int64_t kSide = 300;

Graph products() {
  return trace("products", {{"x", TypeSpec(DType::f32, {kSide, kSide})}},
               [](Tensor x) { return named("y", sum(exp(matmul(x, x) * 0.001))); });
}

std::map<std::string, Array> input_of_ones() {
  return {{"x", Array::of<float>({kSide, kSide}, std::vector<float>(kSide * kSide, 1))}};
}

/// The difference from `expected`, if any.
std::string difference(const Result<RunResult>& result, const Array& expected) {
  if (!result) return result.error().message;
  return *result->output("y") == expected ? "" : "another result";
}

class Fork : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, Fork, ::testing::Values("none", "simulated"));

TEST_P(Fork, AChildRunsWhatItsParentHasRun) {
  const Executable program = compiled_on(products(), GetParam());
  const Array expected = *program.run(input_of_ones())->output("y");
  for (int i = 0; i < 3; ++i)
    expect_silent(in_child([&] {
      for (int k = 0; k < 3; ++k)
        if (std::string what = difference(program.run(input_of_ones()), expected); !what.empty()) return what;
      if (std::string what = difference(program.submit(input_of_ones()).wait(), expected); !what.empty()) return what;
      // Also in a child of the child.
      const Child child = in_child([&] { return difference(program.run(input_of_ones()), expected); });
      return child.code == 0 ? "" : "in its child: " + child.said;
    }));
  EXPECT_EQ(difference(program.run(input_of_ones()), expected), "");
}

TEST_P(Fork, AChildCompilesAndLetsGo) {
  auto program = std::make_unique<Executable>(compiled_on(products(), GetParam()));
  const Array expected = *program->run(input_of_ones())->output("y");
  expect_silent(in_child([&] {
    program.reset();
    return difference(compiled_on(products(), GetParam()).run(input_of_ones()), expected);
  }));
}

TEST_P(Fork, WhileRunsAreUnderWayOnOtherThreads) {
  if (testing::kSanitized) GTEST_SKIP() << "another thread may hold a lock of the sanitizer's allocator, which no child can open";
  const Executable program = compiled_on(products(), GetParam());
  const Array expected = *program.run(input_of_ones())->output("y");
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!over) {
        std::vector<cleave::Run> runs;
        for (int i = 0; i < 3; ++i) runs.push_back(program.submit(input_of_ones()));
        EXPECT_EQ(difference(program.run(input_of_ones()), expected), "");
      }
    });
  for (int i = 0; i < 10; ++i) expect_silent(in_child([&] { return difference(program.run(input_of_ones()), expected); }));
  over = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Fork, ARunUnderWayIsItsParents) {
  auto opened = std::make_shared<std::atomic<bool>>(false);
  const Graph graph = trace("gated", {{"x", "f32[]"}}, [&](Tensor x) {
    return named("y", host_call(
                          "gate", {"f32[]"},
                          [opened](std::span<const float> in, std::span<float> out) {
                            while (!*opened) std::this_thread::yield();
                            out[0] = in[0];
                          },
                          x));
  });
  const Executable program = compiled_on(graph, GetParam());
  cleave::Run run = program.submit({{"x", Array::scalar(2.0F)}});
  const Child child = in_child([&] {
    run.cancel();
    if (!run.ready()) return std::string("not ready");
    const Result<Array> output = run.get("y");
    return output ? std::string("an output") : output.error().message + "; " + run.wait().error().message;
  });
  EXPECT_THAT(child.said, HasSubstr("the run belongs to the process that this one was forked from"));
  *opened = true;
  ASSERT_TRUE(run.wait().ok());
  // A run that has ended keeps its outcome in the child.
  expect_silent(in_child([&] { return run.get("y")->at(0) == 2 ? "" : "another result"; }));
}

TEST_P(Fork, StatesStayWithTheParent) {
  Graph graph = trace("counter", {{"x", "f32[8]"}}, [](Tensor x) {
    Tensor count = parameter("count", "f32[8]", 0);
    Tensor next = named("next", count + x);
    return std::tuple(next, named("y", next * 2));
  });
  const std::map<std::string, Array> one = {{"x", Array::of<float>({8}, std::vector<float>(8, 1))}};
  ASSERT_TRUE(keep_state(graph, "count", "next").ok());
  const Executable program = compiled_on(graph, GetParam());
  ASSERT_TRUE(program.run(one).ok());
  const Child child = in_child([&] {
    const Result<RunResult> left = program.run(one);
    if (left) return std::string("a result");
    if (Status reset = program.reset_states(); !reset) return reset.error().message;
    const Result<RunResult> anew = program.run(one);
    if (!anew) return "anew: " + anew.error().message;
    return anew->output("y")->at(0) == 2 ? left.error().message : "another result";
  });
  EXPECT_THAT(child.said, HasSubstr("the states of this program are in the process that this one was forked from"));
  EXPECT_EQ(program.run(one)->output("y")->at(0), 4);
}

TEST_P(Fork, AHostFunctionThatComesBackInAChildIsNamed) {
  const Graph graph = trace("forks", {{"x", "f32[]"}}, [](Tensor x) {
    return named("y", host_call(
                          "forks", {"f32[]"},
                          [](std::span<const float> in, std::span<float> out) {
                            out[0] = in[0];
                            int status = 0;
                            if (const pid_t child = fork(); child > 0) {
                              waitpid(child, &status, 0);
                              out[0] = static_cast<float>(WEXITSTATUS(status));
                            }
                          },
                          x));
  });
  const Executable program = compiled_on(graph, GetParam());
  const Child child = in_child([&] {
    const Result<RunResult> result = program.run({{"x", Array::scalar(7.0F)}});
    return result ? "code " + std::to_string(static_cast<int>(result->output("y")->at(0))) : result.error().message;
  });
  EXPECT_THAT(child.said, HasSubstr("the host function `forks` forked, and the child came back from it"));
  EXPECT_THAT(child.said, HasSubstr("code 1"));
}

TEST_P(Fork, AChildHasTheProgramsOfItsParentByTypes) {
  CompileOptions options{.device = GetParam()};
  std::atomic<int> traced = 0;
  const Specialized doubled = specialize(
      "doubled", {std::string("x")},
      [&](Tensor x) {
        ++traced;
        return named("y", x * 2);
      },
      options);
  const std::map<std::string, Array> given = {{"x", Array::of<float>({2}, {1, 2})}};
  ASSERT_TRUE(doubled.run(given).ok());
  expect_silent(in_child([&] {
    const Result<RunResult> result = doubled.run(given);
    if (!result) return result.error().message;
    return std::string(result->output("y")->at(1) == 4 && traced == 1 ? "" : "traced again");
  }));
}

int threads() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

TEST(IdleProcess, HasFewThreadsHoweverManyProgramsItHas) {
  const int before = threads();
  std::vector<Executable> programs;
  const Graph graph = products();
  for (int i = 0; i < 100; ++i) {
    programs.push_back(compiled_on(graph, "simulated"));
    ASSERT_TRUE(programs.back().run(input_of_ones()).ok());
  }
  // Idle threads of the cache, the watchdog, and two threads for kernels.
  EXPECT_LE(threads(), before + 8 + 1 + 2);
  std::vector<cleave::Run> runs;
  for (const Executable& program : programs) runs.push_back(program.submit(input_of_ones()));
  for (const cleave::Run& run : runs) ASSERT_TRUE(run.wait().ok());
  runs.clear();
  EXPECT_LE(threads(), before + 8 + 1 + 2);
  programs.clear();
  for (int i = 0; i < 1000 && threads() > before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(threads(), before);
}

}  // namespace
}  // namespace cleave::testing
