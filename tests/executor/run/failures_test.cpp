// Every failure ends in one Error that names a node and its line. Nothing hangs, no effect behind the error takes place, and the executor
// can be run again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "executor/api/back_ends.h"
#include "executor/check/verify_node.h"
#include "executor/device/step_mark.h"
#include "executor/run/prepare/prepared.h"
#include "executor/simulated/faults.h"
#include "executor/simulated/simulated_device.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using Function = std::function<Status(std::span<const Array>, std::span<Array>)>;

std::shared_ptr<const HostFunction> host_function(std::string name, bool pure, Function function) {
  auto result = std::make_shared<HostFunction>();
  result->name = std::move(name);
  result->returns = {TensorType{DType::f32, {4}}};
  result->pure = pure;
  result->call = [function = std::move(function)](auto inputs, auto results, const CallLimits&) { return function(inputs, results); };
  return result;
}

/// for i in `trips`: w = w * w + x (lines 2, 3); print w (4); w = f(w) (5); print w (6). Both sides work in every iteration.
std::shared_ptr<const Graph> looping(Function f, bool pure = false, std::int64_t trips = 5) {
  Tracer tracer("looping");
  const TensorType type{DType::f32, {4}};
  const Operand x = tracer.input("x", type, {}, line(1));
  const Tracer::State state{"w", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, trips, 0}, std::span(&state, 1), line(2));
  Operand w = call(tracer, "add", {call(tracer, "multiply", {loop.inside[0], loop.inside[0]}, 2), x}, 3);
  call(tracer, "print", {w}, 4, {{"label", std::string("before")}});
  w = call(tracer, "host_call", {w}, 5, {{"function", host_function("f", pure, std::move(f))}});
  call(tracer, "print", {w}, 6, {{"label", std::string("after")}});
  const Tracer::State yielded{"w", w, line(6)};
  const Operand result = tracer.end_for(std::span(&yielded, 1))[0];
  tracer.output("w", result, line(7));
  return std::make_shared<const Graph>(tracer.finish());
}

Status halve(std::span<const Array> inputs, std::span<Array> results) {
  for (int i = 0; i < 4; ++i) results[0].mutable_data<float>()[i] = inputs[0].data<float>()[i] / 2;
  return {};
}

RunOptions inputs() {
  RunOptions options;
  options.inputs = {{"x", Array::of<float>({4}, {1, 2, 3, 4})}};
  return options;
}

Outcome run_on_inputs(Executor& executor, const RunOptions& options = inputs()) {
  return run_with(options, [&](const RunOptions& o) { return executor.run(o); });
}

TEST(Failures, TheProgramOfTheseTestsWorks) {
  const auto graph = looping(halve);
  ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  const auto executor = executor_for(plan_for(graph, Where::accelerator));
  const Outcome outcome = run_on_inputs(*executor);
  ASSERT_TRUE(outcome.result.ok()) << outcome.result.error().message;
  EXPECT_EQ(outcome.lines.size(), 10U);
  EXPECT_GT(outcome.result->accelerator_to_host.count, 0);
}

class Fault : public ::testing::TestWithParam<const char*> {};

/// The host may be some iterations ahead of a kernel whose result it does not need: as many as channels and buffers allow.
TEST_P(Fault, IsOneErrorAtALineAndTheNextRunWorks) {
  constexpr std::int64_t trips = 12;
  const auto graph = looping(halve, false, trips);
  for (const Where where : {Where::accelerator, Where::random}) {
    for (const int capacity : {1, 2}) {
      for (int schedule = 0; schedule < 3; ++schedule) {
        ExecutorSetup options = simulated_setup();
        options.inject = GetParam();
        options.channel_capacity = capacity;
        options.schedule = static_cast<ExecutorOptions::Schedule>(schedule);
        options.watchdog_seconds = 0.2;
        const Planned planned = plan_for(graph, where, 7);
        const auto executor = executor_for(planned, options);
        const Outcome failed = run_on_inputs(*executor);
        const std::string fault = GetParam();
        if (failed.result.ok()) continue;  // fewer kernels or transfers than that on this placement
        const Error& error = failed.result.error();
        EXPECT_EQ(error.kind, ErrorKind::machine);
        EXPECT_EQ(error.location.file_name(), "model.yaml") << error.message;
        EXPECT_LT(failed.lines.size(), 2U * trips);
        const Outcome again = run_on_inputs(*executor);
        if (fault.starts_with("lost")) {
          ASSERT_FALSE(again.result.ok());
          EXPECT_NE(again.result.error().message.find("lost"), std::string::npos) << again.result.error().message;
        } else {
          ASSERT_TRUE(again.result.ok()) << again.result.error().message;
          expect_equal(again, run_with(inputs(), [&](const RunOptions& o) { return run_reference(*graph, o); }), false);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Fault,
                         ::testing::Values("kernel:1", "kernel:4", "transfer:1", "transfer:5", "corrupt:2", "stall:1", "stall:6", "lost:1",
                                           "lost:9"));

TEST(Failures, AKernelErrorIsTheSameUnderEverySchedule) {
  const auto graph = looping(halve);
  std::vector<std::string> seen;
  for (int schedule = 0; schedule < 3; ++schedule) {
    ExecutorSetup options = simulated_setup();
    options.inject = "kernel:4";
    options.schedule = static_cast<ExecutorOptions::Schedule>(schedule);
    const Outcome failed = run_on_inputs(*executor_for(plan_for(graph, Where::accelerator), options));
    ASSERT_FALSE(failed.result.ok());
    // Two kernels per iteration: the fourth is the second one of the second iteration. Three lines are printed before it, or fewer by one
    // iteration.
    EXPECT_EQ(failed.lines.size(), 2U);
    seen.push_back(to_string(failed.result.error().location) + failed.result.error().message);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

/// a, b, c: small inputs that are coalesced into one transfer; x: a large one that is sent in chunks, as is its sum.
std::shared_ptr<const Graph> with_coalesced_transfers() {
  Tracer tracer("packets");
  std::vector<Operand> small;
  for (const char* name : {"a", "b", "c"}) small.push_back(tracer.input(name, {DType::f32, {4}}, {}, line(1)));
  const Operand x = tracer.input("x", {DType::f32, {3 << 20}}, {}, line(2));
  tracer.output("p", call(tracer, "add", {small[0], small[1]}, 3), line(3));
  tracer.output("q", call(tracer, "multiply", {small[1], small[2]}, 4), line(4));
  tracer.output("y", call(tracer, "add", {x, x}, 5), line(5));
  return std::make_shared<const Graph>(tracer.finish());
}

TEST(Failures, TransfersAreCountedByValuesInCoalescedOnesAndPartsToo) {
  const auto graph = with_coalesced_transfers();
  ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  const Planned planned = plan_for(graph, Where::accelerator);
  ASSERT_FALSE(planned.program->coalesced_transfers.empty());
  RunOptions options;
  options.inputs = {{"x", Array(TensorType{DType::f32, {3 << 20}})}};
  for (const char* name : {"a", "b", "c"}) options.inputs.emplace(name, Array::of<float>({4}, {1, 2, 3, 4}));
  const auto outcome = [&](const std::string& fault) {
    ExecutorSetup setup = simulated_setup();
    setup.inject = fault;
    setup.watchdog_seconds = 0.2;
    return run_on_inputs(*executor_for(planned, setup), options);
  };
  const Outcome well = outcome("");
  ASSERT_TRUE(well.result.ok()) << well.result.error().message;
  const std::int64_t values = well.result->host_to_accelerator.count + well.result->accelerator_to_host.count;
  EXPECT_EQ(values, 7);
  for (std::int64_t n = 1; n <= values; ++n) {
    const std::string number = std::to_string(n);
    const Outcome failed = outcome("transfer:" + number), corrupt = outcome("corrupt:" + number);
    ASSERT_FALSE(failed.result.ok()) << n;
    EXPECT_NE(failed.result.error().message.find("transfer " + number + " failed"), std::string::npos) << failed.result.error().message;
    EXPECT_FALSE(corrupt.result.ok()) << n;
  }
  for (const char* fault : {"transfer:", "corrupt:"}) EXPECT_TRUE(outcome(fault + std::to_string(values + 1)).result.ok()) << fault;
  for (const char* fault : {"stall:", "lost:"}) {  // three kernels run besides
    EXPECT_FALSE(outcome(fault + std::to_string(values + 3)).result.ok()) << fault;
    EXPECT_TRUE(outcome(fault + std::to_string(values + 4)).result.ok()) << fault;
  }
}

TEST(Failures, OutOfMemoryIsSaidBeforeAnythingRuns) {
  ExecutorSetup options = simulated_setup();
  options.inject = "oom";
  const Planned planned = plan_for(looping(halve), Where::accelerator);
  const auto executor = Executor::create(planned.program, planned.costs, options);
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().kind, ErrorKind::machine);
}

TEST(Failures, WhatCannotFitIsRefusedWithThePeakAndItsValues) {
  Planned planned = plan_for(looping(halve), Where::accelerator);
  planned.costs.memory_bytes[kAccelerator] = 100;
  const auto executor = Executor::create(planned.program, planned.costs, simulated_setup());
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().kind, ErrorKind::machine);
  EXPECT_NE(executor.error().message.find("100 B"), std::string::npos) << executor.error().message;
  EXPECT_NE(executor.error().message.find("f32[4]"), std::string::npos) << executor.error().message;
  EXPECT_TRUE(executor.error().location.known());
}

TEST(Failures, AHostFunctionThatFailsIsAnErrorOfItsNode) {
  int calls = 0;
  const auto graph = looping([&](std::span<const Array> in, std::span<Array> out) -> Status {
    if (++calls == 3) return Error{"the sensor is gone", {}, ErrorKind::user};
    return halve(in, out);
  });
  for (const Where where : {Where::host, Where::accelerator, Where::optimal}) {
    calls = 0;
    const auto executor = executor_for(plan_for(graph, where));
    const Outcome failed = run_on_inputs(*executor);
    ASSERT_FALSE(failed.result.ok());
    EXPECT_NE(failed.result.error().message.find("the sensor is gone"), std::string::npos);
    EXPECT_EQ(failed.result.error().location.line, 5);
    EXPECT_EQ(failed.lines.size(), 5U);  // two whole iterations, and the line before the call in the third one
    EXPECT_TRUE(run_on_inputs(*executor).result.ok());
  }
}

TEST(Failures, AHostFunctionThatThrowsIsAnErrorOfItsNode) {
  for (const bool standard : {true, false}) {
    const auto graph = looping([&](std::span<const Array>, std::span<Array>) -> Status {
      if (standard) throw std::runtime_error("kaboom");
      throw 42;  // NOLINT
    });
    const auto executor = executor_for(plan_for(graph, Where::accelerator));
    const Outcome failed = run_on_inputs(*executor);
    ASSERT_FALSE(failed.result.ok());
    EXPECT_NE(failed.result.error().message.find(standard ? "kaboom" : "threw"), std::string::npos);
    EXPECT_EQ(failed.result.error().location.line, 5);
    const Outcome oracle = run_with(inputs(), [&](const RunOptions& o) { return run_reference(*graph, o); });
    expect_equal(failed, oracle, true);
  }
}

TEST(Failures, AHostFunctionMayTakeLongerThanTheWatchdogWaits) {
  bool first = true;
  const auto graph = looping([&first](std::span<const Array> in, std::span<Array> out) {
    if (std::exchange(first, false)) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    return halve(in, out);
  });
  ExecutorSetup options = simulated_setup();
  options.watchdog_seconds = 0.5;
  const Outcome outcome = run_on_inputs(*executor_for(plan_for(graph, Where::accelerator), options));
  EXPECT_TRUE(outcome.result.ok()) << outcome.result.error().message;
}

TEST(Failures, AStalledStreamIsEndedByTheWatchdogWhichSaysWhoWaits) {
  ExecutorSetup options = simulated_setup();
  options.inject = "stall:2";
  options.watchdog_seconds = 0.1;
  const Outcome failed = run_on_inputs(*executor_for(plan_for(looping(halve), Where::accelerator), options));
  ASSERT_FALSE(failed.result.ok());
  EXPECT_NE(failed.result.error().message.find("nothing has run for"), std::string::npos) << failed.result.error().message;
  EXPECT_NE(failed.result.error().message.find("waits for"), std::string::npos) << failed.result.error().message;
}

TEST(Failures, MissingAndWrongInputsNameThemselvesAndTheirLine) {
  const auto graph = looping(halve);
  const auto executor = executor_for(plan_for(graph, Where::accelerator));
  const Outcome missing = run_on_inputs(*executor, {});
  ASSERT_FALSE(missing.result.ok());
  EXPECT_NE(missing.result.error().message.find("`x`"), std::string::npos);
  EXPECT_EQ(missing.result.error().location.line, 1);
  RunOptions wrong;
  wrong.inputs = {{"x", Array::of<double>({2}, {1, 2})}};
  const Outcome refused = run_on_inputs(*executor, wrong);
  ASSERT_FALSE(refused.result.ok());
  EXPECT_NE(refused.result.error().message.find("f64[2]"), std::string::npos);
  EXPECT_NE(refused.result.error().message.find("f32[4]"), std::string::npos);
  EXPECT_TRUE(run_on_inputs(*executor).result.ok());
}

TEST(Failures, NoFileIsLeftBehindAnError) {
  test::TemporaryFolder folder;
  Tracer tracer("writes");
  const Operand x = tracer.input("x", {DType::f32, {4}}, {}, line(1));
  const Operand bad = call(tracer, "host_call", {x}, 2, {{"function", host_function("f", false, [](auto, auto) -> Status {
                                                            return Error{"no", {}, ErrorKind::user};
                                                          })}});
  call(tracer, "write_npy", {bad}, 3, {{"path", folder.path("out.npy")}});
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  const Outcome failed = run_on_inputs(*executor_for(plan_for(graph, Where::host), simulated_setup()));
  EXPECT_FALSE(failed.result.ok());
  EXPECT_EQ(folder.files(), 0U);
}

TEST(Failures, VerifyModeStopsAtANodeThatDiffersFromItsReference) {
  const auto graph = looping(halve);
  const Planned planned = plan_for(graph, Where::host);
  const auto prepared = prepare(planned.program, planned.costs, simulated_setup());
  ASSERT_TRUE(prepared.ok());
  NodeId node;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    if (graph->op_name(NodeId(i)) == "multiply") node = NodeId(i);
  }
  const Array x = Array::of<float>({4}, {1, 2, 3, 4});
  const std::vector<Array> operands = {x, x};
  const std::vector<Array> right = {Array::of<float>({4}, {1, 4, 9, 16})}, wrong = {Array::of<float>({4}, {1, 4, 9.01F, 16})};
  EXPECT_FALSE(check_against_reference((*prepared)->graph(), (*prepared)->bound, node, operands, right));
  const auto error = check_against_reference((*prepared)->graph(), (*prepared)->bound, node, operands, wrong);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->location.line, 2);
  EXPECT_NE(error->message.find("element 2"), std::string::npos) << error->message;
}

TEST(Failures, WorkForAnAcceleratorNeedsOne) {
  const ExecutorSetup options = *choose_device("none");
  const Planned planned = plan_for(looping(halve), Where::accelerator);
  const auto executor = Executor::create(planned.program, planned.costs, options);
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().kind, ErrorKind::usage);
  const Planned hosted = plan_for(looping(halve), Where::host);
  const auto on_host = Executor::create(hosted.program, hosted.costs, options);
  ASSERT_TRUE(on_host.ok());
  const Outcome outcome = run_on_inputs(**on_host);
  ASSERT_TRUE(outcome.result.ok());
  EXPECT_EQ(outcome.result->simulated_seconds, 0);
}

TEST(Faults, AreParsedStrictly) {
  EXPECT_EQ(Faults::parse("kernel:3,stall:7")->kernel, 3);
  EXPECT_TRUE(Faults::parse("oom")->oom);
  EXPECT_TRUE(Faults::parse("").ok());
  for (const char* bad : {"kernel", "kernel:", "kernel:0", "kernel:-1", "kernel:x", "oom:1", "fire:1", "kernel:1;stall:2"}) {
    const auto faults = Faults::parse(bad);
    ASSERT_FALSE(faults.ok()) << bad;
    EXPECT_EQ(faults.error().kind, ErrorKind::usage);
  }
}

using SimulatedMemoryDeathTest = ::testing::Test;

TEST(SimulatedMemoryDeathTest, AHostAccessNamesTheNodeAndItsLineAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto graph = looping(halve);
  EXPECT_DEATH(
      {
        const auto memory = *SimulatedMemory::create(4096, false);
        NodeId node;
        for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
          if (graph->op_name(NodeId(i)) == "multiply") node = NodeId(i);
        }
        StepMark mark(*graph, node);
        const volatile std::byte* address = memory->address(128);
        (void)*address;
      },
      "model.yaml:2: multiply: internal error: the host touched accelerator memory");
}

TEST(SimulatedMemory, PoisonsAndRemembersWhoWrote) {
  const auto memory = std::move(*SimulatedMemory::create(1024, true));
  EXPECT_EQ(memory->alias(0)[17], std::byte{SimulatedMemory::kPoison});
  EXPECT_FALSE(memory->written({0, 4}));
  memory->mark_written({0, 8});
  EXPECT_TRUE(memory->written({0, 8}));
  EXPECT_FALSE(memory->written({4, 8}));
  memory->alias(0)[0] = std::byte{1};
  memory->poison({0, 4});
  EXPECT_EQ(memory->alias(0)[0], std::byte{SimulatedMemory::kPoison});
  EXPECT_FALSE(memory->written({0, 8}));
  EXPECT_TRUE(memory->written({4, 4}));
}

}  // namespace
}  // namespace cleave::testing
