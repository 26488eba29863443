// compile() and the Executable that it returns: the plan as values and as text, blocking runs, asynchronous runs, and every failure as an
// Error.
#include "executor/api/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <latch>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

#include "executor/check/reference.h"
#include "graph/array/npy.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "tests/support/compiled.h"
#include "tests/support/namespaces.h"
#include "tests/support/pinned.h"
#include "tests/support/temporary_folder.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

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

TEST(Executable, TellsWhatItVerifiesAndHowMuchThatTakes) {
  const Graph graph = trace("product", {{"x", "f32[8, 8]"}}, [](Tensor x) { return named("y", exp(named("p", matmul(x, x)))); });
  for (const Policy policy : {Policy::accelerator, Policy::host}) {
    std::vector<std::pair<std::string, double>> told;
    RunOptions options;
    options.inputs.emplace("x", Array(TensorType{DType::f32, {8, 8}}));
    options.on_verify = [&](std::string_view name, double operations) { told.emplace_back(name, operations); };
    const Executable program = compiled(graph, {.device = "simulated", .placement = policy});
    ASSERT_TRUE(program.run(options).ok());
    EXPECT_TRUE(told.empty()) << "nothing is verified";
    options.verify = true;
    ASSERT_TRUE(program.run(options).ok());
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0], (std::pair<std::string, double>("p", 2 * 8 * 8 * 8)));
    EXPECT_EQ(told[1].first, "y");
  }
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
  for (const Diagnostic& each : program.diagnostics())
    EXPECT_EQ(each.kind, DiagnosticKind::launch_bound) << "a print every hundredth step is no round trip";
  EXPECT_THAT(program.explain(), HasSubstr("matmul"));
  EXPECT_THAT(program.dot(), HasSubstr("digraph"));
  EXPECT_THAT(program.svg(), ::testing::StartsWith("<svg "));
  EXPECT_THAT(program.html(), HasSubstr("<svg "));
  const auto json = nlohmann::json::parse(program.json());
  EXPECT_EQ(json["model"], "regression");
  EXPECT_EQ(json["totals"]["transfers"], program.plan().transfers.items.size());
  EXPECT_EQ(nlohmann::json::parse(program.sarif())["version"], "2.1.0");
}

TEST(Executable, ReadsAParametersFileOnce) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("w.npy");
  ASSERT_TRUE(write_npy(path, Array::of<float>({2}, {1, 2})).ok());
  const Executable program =
      compiled(trace("files", [&] { return named("y", parameter("w", "f32[2]", Init::file(path)) * 2); }), {.device = "none"});
  EXPECT_EQ(program.run(RunOptions())->output("y")->at(1), 4);
  std::filesystem::remove(path);
  cleave::Run first = program.submit(RunOptions()), second = program.submit(RunOptions());  // each on its own executor
  EXPECT_EQ(first.wait()->output("y")->at(1), 4);
  EXPECT_EQ(second.wait()->output("y")->at(1), 4);
}

/// Weights are packed once for all runs, and for no other weights.
TEST(Executable, KeepsNothingOfParametersThatTheCallerGives) {
  const Graph graph = trace("layer", {{"x", "f32[8, 300]"}}, [](Tensor x) {
    return named("y", matmul(x, transpose(parameter("w", "f32[120, 300]", Init::uniform(-1, 1, 1)))));
  });
  const Executable program = compiled(graph, {.device = "none"});
  const auto check = [&](const RunOptions& options, const char* what) {
    const Result<RunResult> result = program.run(options), expected = run_reference(graph, options);
    ASSERT_TRUE(result.ok() && expected.ok());
    for (std::int64_t i = 0; i < 8 * 120; ++i) ASSERT_NEAR(result->output("y")->at(i), expected->output("y")->at(i), 1e-3) << what;
  };
  RunOptions own;
  Array x(TensorType{DType::f32, {8, 300}}), w(TensorType{DType::f32, {120, 300}});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 13) - 6;
  own.inputs.emplace("x", x);
  check(own, "the program's own");
  check(own, "again");
  RunOptions given = own;
  given.inputs["w"] = Array::borrow(w.type(), w.bytes());
  for (const float value : {1.0F, 2.0F}) {
    std::fill_n(w.mutable_data<float>(), w.size(), value);
    check(given, "the caller's, at one place");
  }
  check(own, "the program's own after the caller's");
}

TEST(Executable, ReadsAnInputsFileAgainWhenItHasChanged) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("w.npy");
  ASSERT_TRUE(write_npy(path, Array::of<float>({2}, {1, 2})).ok());
  const std::string model =
      folder.write("m.yaml", "cleave: 1\nmodel: m\ninputs: {w: {type: \"f32[2]\", file: w.npy}}\nprogram:\n  - y: w * 2\noutputs: [y]\n");
  const Executable program = compiled(read_model(model), {.device = "none"});
  const auto run = [&] { return program.run(RunOptions())->output("y")->at(1); };
  EXPECT_EQ(run(), 4);
  ASSERT_TRUE(write_npy(path, Array::of<float>({2}, {1, 5})).ok());
  EXPECT_EQ(run(), 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // from now on it is cached
  EXPECT_EQ(run(), 10);
  EXPECT_EQ(run(), 10);
  ASSERT_TRUE(write_npy(path, Array::of<float>({2}, {1, 7})).ok());
  EXPECT_EQ(run(), 14);
  std::filesystem::remove(path);
  EXPECT_FALSE(program.run(RunOptions()).ok());
}

TEST(Executable, TwoRunsOfOneSubmissionEachAreInFlightAtOnce) {
  // Each run waits in its host function for the other one: sequential runs would never end.
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
  EXPECT_TRUE(second.wait().ok());
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
  EXPECT_THAT(std::string(failed.error().location.file_name()), ::testing::EndsWith("executable_test.cpp"));
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
      return on_accelerator([&] { return noted * 0.5; });
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
      run.cancel();  // the run has ended: nothing happens
    }
  }
}

// --- outputs before the end --------------------------------------------------------------------------------------------------------------

using Function = std::function<Status(std::span<const float>, std::span<float>)>;

/// A gate that the test opens; its destructor opens it at the latest.
class Gate {
 public:
  ~Gate() { open(); }
  void open() { opened_->store(true); }
  /// A function with which a host function waits until the gate is open.
  [[nodiscard]] std::function<void()> wait() const {
    return [opened = opened_] {
      while (!*opened) std::this_thread::yield();
    };
  }

 private:
  std::shared_ptr<std::atomic<bool>> opened_ = std::make_shared<std::atomic<bool>>(false);
};

/// Three outputs: `early`, computed by the accelerator, and `late`, by a host function that does not need it; and `x`.
Graph early_and_late(Function function) {
  return trace("early_and_late", {{"x", "f32[4]"}}, [&](Tensor x) {
    const Tensor early = on_accelerator([&] { return x * 2; });
    const Tensor late = host_call("slow", {"f32[4]"}, function, x);
    return std::tuple(named("early", early), named("late", late), x);
  });
}

std::map<std::string, Array> four() {
  return {{"x", Array::of<float>({4}, {1, 2, 3, 4})}};
}

TEST(Executable, ARunEndsSoonWhenItsCallerAsksItToStop) {
  std::atomic<bool> running = false;
  const Graph graph = trace("spinning", {{"x", "f32[]"}}, [&](Tensor x) {
    return named("y", while_loop([](Tensor v) { return v >= 0; }, x,
                                 [&](Tensor v) {
                                   return host_call(
                                       "note", {"f32[]"},
                                       [&](std::span<const float> a, std::span<float> b) { running = true, b[0] = a[0]; }, v);
                                 }));
  });
  Result<Executable> executable = compile(graph, {.device = "none"});
  ASSERT_TRUE(executable) << executable.error().message;
  for (const bool before : {true, false}) {
    std::stop_source source;
    running = false;
    if (before) source.request_stop();
    std::thread stopper([&] {
      while (!running && !source.stop_requested()) std::this_thread::yield();
      source.request_stop();
    });
    RunOptions options;
    options.inputs = {{"x", Array::scalar<float>(1)}};
    options.stop = source.get_token();
    const Result<RunResult> result = executable->run(options);
    stopper.join();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "cancelled");
    EXPECT_EQ(running, !before);
  }
}

TEST(ExecutableOutputs, AreThereBeforeTheEndOfTheRun) {
  for (const char* device : {"simulated", "none"}) {
    for (int round = 0; round < 20; ++round) {
      const bool twice = round % 2 == 1;  // the second run of an executor
      Gate gate;
      const Executable program = compiled(early_and_late([wait = gate.wait()](std::span<const float> in, std::span<float> out) -> Status {
                                            wait();
                                            std::copy(in.begin(), in.end(), out.begin());
                                            return {};
                                          }),
                                          {.device = device});
      for (int run_number = 0; run_number <= (twice ? 1 : 0); ++run_number) {
        cleave::Run run = program.submit(four());
        Gate opened_last = gate;  // destroyed, and so opened, before `run` waits for its end
        for (const char* name : {"early", "x", "early"}) {
          const Result<Array> array = run.get(name);
          ASSERT_TRUE(array.ok()) << array.error().message;
          EXPECT_EQ(array->at(3), name == std::string("x") ? 4 : 8);
        }
        if (run_number == 0) {
          EXPECT_FALSE(run.ready());
          EXPECT_FALSE(run.get_until("late", std::chrono::steady_clock::now()).has_value());
          EXPECT_FALSE(run.get_until("late", std::chrono::steady_clock::now() + std::chrono::milliseconds(1)).has_value());
        }
        gate.open();
        EXPECT_EQ(run.get("late")->at(2), 3);
        ASSERT_TRUE(run.wait().ok()) << run.wait().error().message;
        EXPECT_EQ(run.wait()->output("early")->at(0), 2);
        EXPECT_EQ((*run.get_until("early", std::chrono::steady_clock::now()))->at(0), 2);
      }
    }
  }
}

TEST(ExecutableOutputs, OfLoopsAndBranchesAreThereBeforeTheEnd) {
  for (const Policy policy : {Policy::host, Policy::accelerator, Policy::optimal}) {
    Gate gate;
    const Graph graph = trace("after", {{"x", "f32[4]"}},
                              [&](Tensor x) {
                                const Tensor looped = for_loop(3, x, [](Tensor, Tensor y) { return y + y; });
                                const Tensor chosen = cond(
                                    sum(x) > 0, [&] { return x * 3; }, [&] { return x * 5; });
                                const Tensor late = host_call(
                                    "slow", {"f32[4]"}, [wait = gate.wait()](std::span<const float>, std::span<float>) { wait(); }, x);
                                return std::tuple(looped, chosen, late);
                              },
                              {.outputs = {"looped", "chosen", "late"}});
    ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
    cleave::Run run = compiled(graph, {.device = "simulated", .placement = policy}).submit(four());
    Gate opened_last = gate;
    const Result<Array> looped = run.get("looped");
    ASSERT_TRUE(looped.ok()) << looped.error().message;
    EXPECT_EQ(looped->at(1), 16);
    EXPECT_EQ(run.get("chosen")->at(1), 6);
    EXPECT_FALSE(run.ready());
    gate.open();
    EXPECT_TRUE(run.wait().ok());
  }
}

TEST(ExecutableOutputs, AFailingRunGivesItsErrorToWhoeverWaits) {
  Gate gate;
  const Executable program = compiled(early_and_late([wait = gate.wait()](std::span<const float>, std::span<float>) -> Status {
    wait();
    return Error{"no fuel", {}, ErrorKind::user};
  }));
  cleave::Run run = program.submit(four());
  Gate opened_last = gate;
  ASSERT_TRUE(run.get("early").ok());
  std::thread other([&] { gate.open(); });
  const Result<Array> late = run.get("late");
  other.join();
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("no fuel"));
  EXPECT_FALSE(run.wait().ok());
  EXPECT_FALSE(run.get("early").ok()) << "of a failed run nothing is left";
  EXPECT_FALSE((*run.get_until("late", std::chrono::steady_clock::now())).ok());
}

TEST(ExecutableOutputs, ACancelledRunWakesWhoeverWaits) {
  std::atomic<bool> entered = false, leave = false;
  const Graph graph = trace("endless", {{"x", "f32[4]"}}, [&](Tensor x) {
    const Tensor slow = host_call(
        "slow", {"f32[4]"},
        [&](std::span<const float>, std::span<float>) {
          entered = true;
          while (!leave) std::this_thread::yield();
        },
        x);
    return std::tuple(named("y", on_accelerator([&] { return slow * 2; })), x);
  });
  cleave::Run run = compiled(graph).submit(four());
  std::thread other([&] {
    while (!entered) std::this_thread::yield();
    run.cancel();
    leave = true;
  });
  const Result<Array> y = run.get("y");
  other.join();
  ASSERT_FALSE(y.ok());
  EXPECT_EQ(y.error().message, "cancelled");
}

TEST(ExecutableOutputs, SeveralThreadsMayWaitForThem) {
  const Executable program = compiled(early_and_late([](std::span<const float> in, std::span<float> out) -> Status {
    std::copy(in.begin(), in.end(), out.begin());
    return {};
  }));
  for (int round = 0; round < 20; ++round) {
    cleave::Run run = program.submit(four());
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (const char* name : {"early", "late", "x", "early"})
      threads.emplace_back([&run, &right, name] { right += run.get(name).ok() ? 1 : 0; });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 4);
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

// --- functions of the caller that throw --------------------------------------------------------------------------------------------------

TEST(ExecutableCallbacks, WhatTheyThrowIsTheErrorOfTheRun) {
  const Executable program = compiled(early_and_late([](std::span<const float> in, std::span<float> out) -> Status {
                                        std::copy(in.begin(), in.end(), out.begin());
                                        return {};
                                      }),
                                      {.device = "simulated"});
  for (const char* output : {"early", "late", "x"}) {
    RunOptions options;
    options.inputs = four();
    options.on_output = [output](std::string_view name, const Array&) {
      if (name == output) throw std::runtime_error("disk full");
    };
    const Result<RunResult> result = program.run(options);
    ASSERT_FALSE(result.ok()) << output;
    EXPECT_THAT(result.error().message, HasSubstr("`on_output` threw: disk full"));
    EXPECT_TRUE(result.error().location.known());
    EXPECT_THAT(program.submit(options).wait().error().message, HasSubstr("`on_output` threw: disk full"));
    options.on_output = nullptr;
    EXPECT_TRUE(program.run(options).ok());
  }
  for (const Policy policy : {Policy::host, Policy::accelerator}) {
    const Executable verified = compiled(regression(), {.device = "simulated", .placement = policy});
    RunOptions options;
    options.inputs = data();
    options.verify = true;
    options.print = [](std::string_view) {};
    options.on_verify = [](std::string_view, double) { throw 42; };  // NOLINT
    const Result<RunResult> result = verified.run(options);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("`on_verify` threw an exception"));
    options.verify = false;
    options.print = [](std::string_view) { throw std::runtime_error("no paper"); };
    EXPECT_THAT(verified.run(options).error().message, HasSubstr("no paper"));
  }
}

TEST(ExecutableCallbacks, AThrowingSinkIsAnErrorOfCompiling) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return x[7]; });
  const Result<Executable> program = compile(graph, {}, [](const Diagnostic&) { throw std::runtime_error("no log"); });
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, "the sink of the diagnostics threw: no log");
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

TEST(Executable, WhatIsAllowedIsToldOnlyToThoseWhoAsk) {
  const Graph graph = trace("t", {{"x", "f32[64, 64]"}}, [](Tensor x) {
    const auto meant = allow(DiagnosticKind::round_trip, "it is short");
    return for_loop(10, x, [](Tensor, Tensor w) { return matmul(sort(matmul(w, w)), w); });
  });
  ASSERT_TRUE(graph.ok());
  CompileOptions options{.device = "simulated", .placement = Policy::accelerator};
  std::vector<Diagnostic> seen;
  const auto sink = [&](const Diagnostic& diagnostic) { seen.push_back(diagnostic); };
  const Result<Executable> silent = compile(graph, options, sink);
  ASSERT_TRUE(silent.ok());
  EXPECT_TRUE(seen.empty());
  ASSERT_EQ(silent->diagnostics().size(), 1u) << "they are in the list all the same";
  EXPECT_EQ(silent->diagnostics().begin()->severity, Severity::allowed);
  options.tell_allowed = true;
  ASSERT_TRUE(compile(graph, options, sink).ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].severity, Severity::allowed);
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
}  // namespace cleave::testing
