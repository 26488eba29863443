// compile() and what it gives: the plan as values and text, runs that wait, runs in flight, and every failure as an Error.
#include "executor/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "executor/reference.h"
#include "graph/host_call.h"
#include "graph/ops/ops.h"
#include "graph/trace.h"

namespace cleave {
namespace {

using testing::HasSubstr;

Graph regression() {
  return trace("regression", {{"x", "f32[4, 2]"}, {"y", "f32[4, 1]"}}, [](Tensor x, Tensor y) {
    struct State {
      Tensor w, b;
      auto members() { return std::tie(w, b); }
    };
    const State first{parameter("w", "f32[2, 1]", Init::uniform(-1, 1, 1)), parameter("b", "f32[1]", 0)};
    const State last = for_loop(200, first, [&](Tensor step, State s) {
      Tensor errors = matmul(x, s.w) + s.b - y;
      s.w -= 0.05 * matmul(transpose(x), errors);
      s.b -= 0.05 * sum(errors, {.axis = 0});
      cond(step % 100 == 0, [&] { print("weights", s.w); });
      return s;
    });
    return std::tuple(last.w, last.b);
  });
}

std::map<std::string, Array> data() {
  return {{"x", Array::of<float>({4, 2}, {0, 1, 1, 0, 1, 1, 2, 1})}, {"y", Array::of<float>({4, 1}, {1, 3, 3, 5})}};
}

Executable compiled(const Graph& graph, const CompileOptions& options = {}) {
  Result<Executable> program = compile(graph, options);
  if (!program) ADD_FAILURE() << to_string(program.error().location) << ": " << program.error().message;
  return *program;
}

TEST(Executable, GivesTheReferenceResultUnderEveryPolicy) {
  const Graph graph = regression();
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  RunOptions options;
  options.inputs = data();
  options.print = [](std::string_view) {};
  const Result<RunResult> expected = run_reference(graph, options);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  for (const Policy policy : {Policy::optimal, Policy::accelerator, Policy::host}) {
    const Result<RunResult> result = compiled(graph, {.device = "simulated", .placement = policy}).run(options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    for (const char* name : {"w", "b"}) {
      ASSERT_TRUE(result->output(name)) << name;
      for (std::int64_t i = 0; i < expected->output(name)->size(); ++i)
        EXPECT_NEAR(result->output(name)->at(i), expected->output(name)->at(i), 1e-4) << name;
    }
    EXPECT_EQ(result->output("v"), nullptr);
  }
}

TEST(Executable, SaysWhatItPlanned) {
  const Executable program = compiled(regression(), {.device = "simulated", .placement = Policy::accelerator});
  EXPECT_GT(program.plan().transfers.items.size(), 0u);
  EXPECT_TRUE(program.diagnostics().empty()) << "a print every hundredth step is no round trip";
  EXPECT_THAT(program.explain(), HasSubstr("matmul"));
  EXPECT_THAT(program.dot(), HasSubstr("digraph"));
  const auto json = nlohmann::json::parse(program.json());
  EXPECT_EQ(json["model"], "regression");
  EXPECT_EQ(json["totals"]["transfers"], program.plan().transfers.items.size());
  EXPECT_EQ(nlohmann::json::parse(program.sarif())["version"], "2.1.0");
}

TEST(Executable, TwoRunsOfOneSubmissionEachAreInFlightAtOnce) {
  // Each run waits in its host function for the other one: run after run, this would never end.
  auto both = std::make_shared<std::latch>(2);
  const Graph graph = trace("meet", {{"x", "f32[]"}}, [&](Tensor x) {
    return host_call(
        "meet", {"f32[]"},
        [both](std::span<const float> in, std::span<float> out) {
          both->arrive_and_wait();
          out[0] = in[0] + 1;
        },
        x);
  });
  const Executable program = compiled(graph);
  cleave::Run first = program.submit({{"x", Array::scalar(1.0f)}});
  EXPECT_FALSE(first.ready());
  EXPECT_FALSE(first.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  cleave::Run second = program.submit({{"x", Array::scalar(5.0f)}});
  ASSERT_TRUE(first.wait().ok()) << first.wait().error().message;
  EXPECT_EQ(first.get("output0")->at(0), 2);
  EXPECT_EQ(second.get("output0")->at(0), 6);
  EXPECT_TRUE(second.ready());
  EXPECT_EQ(second.get("nothing").error().kind, ErrorKind::usage);
}

TEST(Executable, ARunOutlivesTheExecutableAndAFailedOneLeavesItUsable) {
  std::atomic<bool> fail = true;
  const Graph graph = trace("fails", {{"x", "f32[]"}}, [&](Tensor x) {
    return host_call(
        "maybe", {"f32[]"},
        [&fail](std::span<const float> in, std::span<float> out) -> Status {
          if (fail) return Error{"no fuel", {}, ErrorKind::user};
          out[0] = in[0];
          return {};
        },
        x);
  });
  std::optional<Executable> program = compiled(graph);
  const Result<RunResult> failed = program->run({{"x", Array::scalar(1.0f)}});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("no fuel"));
  EXPECT_THAT(std::string(failed.error().location.file_name()), testing::EndsWith("executable_test.cpp"));
  fail = false;
  cleave::Run run = program->submit({{"x", Array::scalar(2.0f)}});
  program.reset();
  EXPECT_EQ(run.get("output0")->at(0), 2);
}

TEST(Executable, ARunIsCancelledAndTheNextOneStartsAfresh) {
  std::atomic<int> calls = 0;
  const Graph graph = trace("endless", {{"x", "f32[4]"}}, [&](Tensor x) {
    return for_loop(1 << 30, x, [&](Tensor, Tensor y) {
      const Tensor noted = host_call(
          "note", {"f32[4]"},
          [&calls](std::span<const float> in, std::span<float> out) -> Status {
            ++calls;
            std::copy(in.begin(), in.end(), out.begin());
            return {};
          },
          y);
      return to_accelerator(noted) * 0.5;
    });
  });
  for (const char* device : {"simulated", "none"}) {
    const Executable program = compiled(graph, {.device = device});
    for (int round = 0; round < 3; ++round) {
      const int before = calls;
      cleave::Run run = program.submit({{"x", Array::of<float>({4}, {1, 2, 3, 4})}});
      while (round > 0 && calls < before + 10 * round) std::this_thread::yield();
      run.cancel();
      ASSERT_FALSE(run.wait().ok());
      EXPECT_EQ(run.wait().error().message, "cancelled");
      run.cancel();  // over: nothing happens
    }
  }
}

TEST(Executable, CancellingWhatIsOverChangesNothing) {
  const Executable program = compiled(trace("t", {{"x", "f32[]"}}, [](Tensor x) { return x + 1; }));
  cleave::Run run = program.submit({{"x", Array::scalar(1.0f)}});
  ASSERT_TRUE(run.wait().ok());
  run.cancel();
  EXPECT_EQ(run.get("output0")->at(0), 2);
  EXPECT_TRUE(program.run({{"x", Array::scalar(1.0f)}}).ok());
}

TEST(Executable, ManyThreadsMayRunIt) {
  const Executable program = compiled(trace("t", {{"x", "f32[3]"}}, [](Tensor x) { return x * 2 + 1; }));
  std::vector<cleave::Run> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(program.submit({{"x", Array::of<float>({3}, {float(i), 0, 0})}}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(runs[i].get("output0")->at(0), 2 * i + 1);
}

// --- errors ------------------------------------------------------------------------------------------------------------------------------

TEST(ExecutableError, MistakesOfTheTraceReachTheSinkAndTheResult) {
  const int line = __LINE__ + 1;
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return std::tuple(x[7], matmul(x, x[9])); });
  std::vector<Diagnostic> seen;
  const Result<Executable> program = compile(graph, {}, [&](const Diagnostic& diagnostic) { seen.push_back(diagnostic); });
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::user);
  EXPECT_EQ(program.error().location.line, line);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(ExecutableError, UnknownDevicesAndMachinesAreUsageErrors) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return x + 1; });
  EXPECT_EQ(compile(graph, {.device = "abacus"}).error().kind, ErrorKind::usage);
  EXPECT_FALSE(compile(graph, {.machine = "no such machine"}).ok());
}

TEST(ExecutableError, AMissingInputIsAnErrorOfTheRun) {
  const Executable program = compiled(trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return x + 1; }));
  const Result<RunResult> result = program.run();
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("`x`"));
}

TEST(ExecutableError, AMisspeltInputIsAnErrorOfTheRun) {
  std::map<std::string, Array> inputs = data();
  inputs.emplace("ww", Array::of<float>({2, 1}, {0, 0}));
  const Result<RunResult> result = compiled(regression()).run(inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("no input or parameter `ww`; did you mean `w`?"));
}

TEST(ExecutableError, AnExceededLimitIsAnError) {
  const Graph graph = trace("t", {{"x", "f32[1024]"}}, [](Tensor x) { return sum(exp(x)); }, {.limits = {.transfers = 0}});
  EXPECT_FALSE(compile(graph, {.placement = Policy::accelerator}).ok());
  EXPECT_TRUE(compile(graph, {.placement = Policy::host}).ok());
}

}  // namespace
}  // namespace cleave
