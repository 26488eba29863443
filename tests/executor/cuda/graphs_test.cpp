// Device segments as CUDA graphs, on the fake driver, which runs a graph's nodes in any order that its edges allow: the nodes of a graph,
// results equal to those of single launches, no graph built once runs have begun, and each failure of each call.
#include <gmock/gmock.h>

#include <random>

#include "executor/cuda/back_end.h"
#include "executor/cuda/dependences.h"
#include "executor/memory/segments.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/golden.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using cuda::Touched;
using ::testing::HasSubstr;
using Schedule = FakeDriver::Schedule;

/// for i in `trips`: two products and operations on them, an independent chain, and two values that are swapped.
std::shared_ptr<const Graph> exchanging_program(std::int64_t trips) {
  Tracer tracer("program");
  const Operand x = tracer.input("x", {DType::f32, {4, 3}}, {}, line(1));
  const Operand w = tracer.input("w", {DType::f32, {3, 3}}, {}, line(1));
  const Operand v = tracer.input("v", {DType::f32, {5}}, {}, line(1));
  const Tracer::State states[] = {
      {"x", x, line(2)}, {"v", v, line(2)}, {"p", w, line(2)}, {"q", call(tracer, "negative", {w}, 2), line(2)}};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, trips, 0}, states, line(3));
  const Operand left = call(tracer, "matmul", {loop.inside[0], loop.inside[2]}, 4);
  const Operand right = call(tracer, "matmul", {loop.inside[0], loop.inside[3]}, 5);
  const Operand next = call(tracer, "tanh", {call(tracer, "add", {left, call(tracer, "relu", {right}, 6)}, 6)}, 6);
  const Operand chain = call(tracer, "cos", {call(tracer, "sin", {loop.inside[1]}, 7)}, 7);
  const Tracer::State yielded[] = {
      {"x", next, line(8)}, {"v", chain, line(8)}, {"p", loop.inside[3], line(8)}, {"q", loop.inside[2], line(8)}};
  const std::vector<Operand> results = tracer.end_for(yielded);
  const char* names[] = {"x", "v", "p", "q"};
  for (std::size_t i = 0; i < results.size(); ++i) tracer.output(names[i], results[i], line(9));
  return std::make_shared<const Graph>(tracer.finish());
}

/// `trips` steps of training a network of two layers by hand.
std::shared_ptr<const Graph> training(std::int64_t trips) {
  Tracer tracer("training");
  const auto input = [&](const char* name, Shape shape) { return tracer.input(name, {DType::f32, std::move(shape)}, {}, line(1)); };
  const Operand x = input("x", {6, 4}), y = input("y", {6, 2}), b1 = input("b1", {3}), b2 = input("b2", {2});
  const Tracer::State states[] = {{"w1", input("w1", {4, 3}), line(1)}, {"w2", input("w2", {3, 2}), line(1)}};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, trips, 0}, states, line(2));
  const Operand w1 = loop.inside[0], w2 = loop.inside[1];
  const Operand turned = call(tracer, "transpose", {x}, 3);
  const Operand hidden = call(tracer, "relu", {call(tracer, "add", {call(tracer, "matmul", {x, w1}, 3), b1}, 3)}, 3);
  const Operand errors = call(tracer, "subtract", {call(tracer, "add", {call(tracer, "matmul", {hidden, w2}, 4), b2}, 4), y}, 4);
  const Operand slope2 = call(tracer, "matmul", {call(tracer, "transpose", {hidden}, 5), errors}, 5);
  const Operand back = call(tracer, "matmul", {errors, call(tracer, "transpose", {w2}, 6)}, 6);
  const Operand slope1 = call(tracer, "matmul", {turned, back}, 7);
  const auto step = [&](const Operand& w, const Operand& slope) {
    const Operand rate = tracer.constant(Array::scalar(0.01F), line(8));
    return call(tracer, "subtract", {w, call(tracer, "multiply", {slope, rate}, 8)}, 8);
  };
  const Tracer::State yielded[] = {{"w1", step(w1, slope1), line(9)}, {"w2", step(w2, slope2), line(9)}};
  const std::vector<Operand> results = tracer.end_for(yielded);
  tracer.output("w1", results[0], line(9));
  tracer.output("w2", results[1], line(9));
  return std::make_shared<const Graph>(tracer.finish());
}

ExecutorSetup graph_setup(FakeDriver& driver, bool stream_mode, const std::string& cache = {}) {
  cuda::CudaOptions cuda_options;
  cuda_options.streams = {16, 0.1};
  cuda_options.upload_bytes = 256;
  cuda_options.stream_mode = stream_mode;
  ExecutorSetup options{{}, cuda::back_end(), 0};
  options.fuse = false;  // graphs that show each operation
  options.back_end.open = driver.opener(cuda_options);
  if (!cache.empty()) {
    cuda_options.cache_folder = cache;
    cuda_options.coalesced_copy = [&driver](std::span<const Piece> pieces, bool unpacks) { return driver.coalesced_copy(pieces, unpacks); };
    cuda_options.source = [&driver](const KernelRequest& r, const cuda::Architecture& a) { return driver.source(r, a); };
    options.back_end.open = [cuda_options](auto&&...) { return cuda::CudaDevice::open(FakeDriver::api(), cuda_options); };
  }
  options.watchdog_seconds = 20;
  return options;
}

// --- which steps wait for which ----------------------------------------------------------------------------------------------------------

Touched touched(std::vector<Range> reads, std::vector<Range> writes) {
  return {std::move(reads), std::move(writes)};
}

TEST(CudaGraphs, FollowReadsAfterWritesWritesAfterReadsAndWritesAfterWrites) {
  const std::vector<Touched> steps = {touched({{0, 4}}, {{8, 4}}),    // 0
                                      touched({{0, 4}}, {{16, 4}}),   // 1: reads data that 0 reads
                                      touched({{8, 8}}, {{24, 4}}),   // 2: reads data that 0 wrote
                                      touched({{32, 4}}, {{2, 1}}),   // 3: overwrites a part of the data that 0 and 1 read
                                      touched({{2, 1}}, {{10, 0}}),   // 4: reads data that 3 wrote; writes nothing
                                      touched({{40, 4}}, {{23, 2}}),  // 5: overwrites a part of the data that 2 wrote
                                      touched({{0, 48}}, {{48, 4}})};
  using List = std::vector<std::size_t>;
  EXPECT_EQ(cuda::find_dependences(steps), (std::vector<List>{{}, {}, {0}, {1, 0}, {3}, {2}, {5, 3}}));
}

TEST(CudaGraphs, HaveEnoughEdgesAndNoneToSpare) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 100; ++turn) {
    SCOPED_TRACE("seed 1, turn " + std::to_string(turn));
    std::vector<Touched> steps(1 + random() % 20);
    const auto range = [&] { return Range{static_cast<std::int64_t>(random() % 60), static_cast<std::int64_t>(random() % 5)}; };
    for (Touched& step : steps) {
      for (auto i = random() % 3; i > 0; --i) step.reads.push_back(range());
      for (auto i = random() % 2; i > 0; --i) step.writes.push_back(range());
    }
    const auto direct = cuda::find_dependences(steps);
    const auto reaches = [&](std::size_t from, std::size_t to, std::size_t without) {  // `without`: an edge from -> without is left out
      std::vector<std::size_t> open = {from};
      while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        for (const std::size_t next : direct[at]) {
          if (at == from && next == without) continue;
          if (next == to) return true;
          open.push_back(next);
        }
      }
      return false;
    };
    const auto meet = [](const std::vector<Range>& a, const std::vector<Range>& b) {
      for (const Range& x : a)
        for (const Range& y : b)
          for (std::int64_t i = x.offset; i < x.offset + x.bytes; ++i)
            if (i >= y.offset && i < y.offset + y.bytes) return true;
      return false;
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool conflict =
            meet(steps[i].reads, steps[j].writes) || meet(steps[i].writes, steps[j].reads) || meet(steps[i].writes, steps[j].writes);
        EXPECT_TRUE(!conflict || reaches(i, j, steps.size())) << i << " after " << j;
      }
      for (const std::size_t j : direct[i]) EXPECT_FALSE(reaches(i, j, j)) << i << " after " << j << " is said twice";
    }
    if (HasFailure()) return;
  }
}

// --- segments that become graphs ---------------------------------------------------------------------------------------------------------

TEST(CudaGraphs, TakeAWholeTripOfALoopOnceForEachTurn) {
  const Planned planned = plan_on_cuda(exchanging_program(5), Where::accelerator);
  FakeDriver driver;
  {
    const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, false));
    ASSERT_TRUE(executor);
    RunOptions options;
    options.inputs = random_inputs(*planned.program->graph, 1);
    ASSERT_TRUE(executor->run(options).ok());
    std::string all;
    for (const std::string& graph : driver.graphs()) all += "graph\n" + graph;
    expect_golden("cuda_graphs/loop.txt", all);
    EXPECT_EQ(driver.count("cuGraphLaunch"), 5);
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

/// A loop that yields a value from outside, and a loop-carried value as another one: these are copied in each iteration.
TEST(CudaGraphs, HoldTheCopiesOfATripThatAreLeft) {
  Tracer tracer("program");
  const Operand x = tracer.input("x", {DType::f32, {3, 3}}, {}, line(1));
  const Operand kept = call(tracer, "negative", {x}, 2);
  const Tracer::State states[] = {{"p", x, line(2)}, {"q", x, line(2)}, {"r", x, line(2)}};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 4, 0}, states, line(3));
  const Operand next = call(tracer, "sin", {call(tracer, "matmul", {loop.inside[0], loop.inside[1]}, 4)}, 4);
  const Tracer::State yielded[] = {
      {"p", call(tracer, "matmul", {next, loop.inside[0]}, 5), line(8)}, {"q", kept, line(8)}, {"r", loop.inside[0], line(8)}};
  const std::vector<Operand> results = tracer.end_for(yielded);
  for (std::size_t i = 0; i < results.size(); ++i) tracer.output(std::to_string(i), results[i], line(9));
  tracer.output("kept", kept, line(9));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  FakeDriver driver;
  const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, false));
  ASSERT_TRUE(executor);
  expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
  std::string all;
  for (const std::string& each : driver.graphs()) all += "graph\n" + each;
  expect_golden("cuda_graphs/copies.txt", all);
}

/// The graphs of a program with three operations on a small input, and three more from an input of `elements` on.
std::vector<std::string> graphs_with_input_of(std::int64_t elements) {
  Tracer tracer("program");
  const Operand small = tracer.input("small", {DType::f32, {1}}, {}, line(1));
  const Operand large = tracer.input("large", {DType::f32, {elements}}, {}, line(1));
  const Operand first = call(tracer, "cos", {call(tracer, "sin", {call(tracer, "tanh", {small}, 2)}, 2)}, 2);
  const Operand sum = call(tracer, "add", {large, first}, 3);
  tracer.output("result", call(tracer, "cos", {call(tracer, "sin", {sum}, 3)}, 3), line(4));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  FakeDriver driver;
  {
    const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(graph, Where::accelerator), graph_setup(driver, false));
    if (executor) expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
  }
  return driver.graphs();
}

TEST(CudaGraphs, DoNotMakeOtherWorkWaitForALargeInput) {
  EXPECT_EQ(graphs_with_input_of(100).size(), 1U);
  const std::vector<std::string> graphs = graphs_with_input_of(300'000);
  ASSERT_EQ(graphs.size(), 2U);
  EXPECT_EQ(graphs[0], "0: tanh\n1: sin after 0\n2: cos after 1\n");
  EXPECT_EQ(graphs[1], "0: add\n1: sin after 0\n2: cos after 1\n");
}

/// for i in 6: v = take(sin(cumulative_sum(v)), index + i); print(v). From some iteration on, an index is out of range.
std::shared_ptr<const Graph> looking_program() {
  Tracer tracer("program");
  const Operand v = tracer.input("v", {DType::f32, {4}}, {}, line(1));
  const Operand index = tracer.input("index", {DType::i32, {4}}, {}, line(1));
  const Tracer::State state{"v", v, line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 6, 0}, std::span(&state, 1), line(2));
  const Operand sums = call(tracer, "cumulative_sum", {loop.inside[0]}, 3);
  const Operand moved = call(tracer, "add", {index, loop.counter}, 4);
  const Operand next = call(tracer, "take", {call(tracer, "sin", {sums}, 3), moved}, 5, {{"axis", std::int64_t{0}}});
  call(tracer, "print", {next}, 6, {{"label", std::string("v")}});
  const Tracer::State yielded{"v", next, line(7)};
  tracer.output("v", tracer.end_for(std::span(&yielded, 1))[0], line(8));
  return std::make_shared<const Graph>(tracer.finish());
}

TEST(CudaGraphs, TellWhichLaunchFoundItsDataWrong) {
  const auto graph = looking_program();
  for (std::int32_t first = -1; first < 4; ++first) {  // out of range in the first iteration, later, or never
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE("first index " + std::to_string(first) + ", seed " + std::to_string(seed));
      RunOptions options;
      options.inputs = random_inputs(*graph, seed);
      Array index(TensorType{DType::i32, {4}});
      index.mutable_data<std::int32_t>()[2] = first < 0 ? -2 : first;
      options.inputs["index"] = index;
      const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
      const Planned planned = plan_on_cuda(graph, Where::accelerator);
      FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
      const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, seed == 5));
      ASSERT_TRUE(executor);
      const Outcome outcome = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
      ASSERT_EQ(outcome.result.ok(), expected.result.ok());
      EXPECT_EQ(outcome.lines.size(), expected.lines.size());
      if (!outcome.result.ok()) {
        EXPECT_EQ(outcome.result.error().location, expected.result.error().location) << outcome.result.error().message;
        EXPECT_EQ(outcome.result.error().kind, expected.result.error().kind);
      }
      EXPECT_EQ(driver.count("cuGraphLaunch") == 0, seed == 5);
      EXPECT_EQ(driver.count("cuGraphExecKernelNodeSetParams"), driver.count("cuGraphLaunch"));
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
      if (HasFailure()) return;
    }
  }
}

TEST(CudaGraphs, GiveWhatSingleLaunchesGive) {
  for (std::uint64_t seed = 0; seed < (kSanitized ? 4U : 12U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = exchanging_program(static_cast<std::int64_t>(seed % 4));
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
    Outcome outcomes[2];
    for (const bool stream_mode : {false, true}) {
      const Planned planned = plan_on_cuda(graph, seed % 2 == 0 ? Where::accelerator : Where::random, seed);
      FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
      {
        const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, stream_mode));
        ASSERT_TRUE(executor);
        for (int i = 0; i < 2; ++i) {
          outcomes[stream_mode] = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
          expect_equal(outcomes[stream_mode], expected, false);
        }
        EXPECT_TRUE(!stream_mode || driver.count("cuGraphLaunch") == 0);
      }
      EXPECT_EQ(driver.leaks(), "");
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    }
    expect_equal(outcomes[0], outcomes[1], true);
    if (HasFailure()) return;
  }
}

TEST(CudaGraphs, TakeATrainingStepWithItsTransposesAndBiases) {
  const auto graph = training(3);
  RunOptions options;
  options.inputs = random_inputs(*graph, 4);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (const bool stream_mode : {false, true}) {
    FakeDriver driver;
    ExecutorSetup with = graph_setup(driver, stream_mode);
    with.fuse = true;
    {
      const std::unique_ptr<Executor> executor = executor_for(planned, with);
      ASSERT_TRUE(executor);
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
      EXPECT_EQ(driver.count("cublasLtMatmul"), 5 + (stream_mode ? 5 * 3 : 5));  // each was called once beforehand
      if (!stream_mode)
        expect_golden("cuda_graphs/training.txt", ::testing::PrintToString(driver.graphs().size()) + " graph\n" + driver.graphs()[0]);
      options.verify = true;
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
      options.verify = false;
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }
}

TEST(CudaGraphs, AreMadeOnceAndNothingIsMadeInARun) {
  const Planned planned = plan_on_cuda(exchanging_program(5), Where::accelerator);
  FakeDriver driver;
  RunOptions options;
  options.inputs = random_inputs(*planned.program->graph, 1);
  const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, false));
  ASSERT_TRUE(executor);
  ASSERT_TRUE(executor->run(options).ok());
  const std::map<std::string, std::int64_t> before = driver.counts();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor->run(options).ok());
  for (const auto& [name, count] : driver.counts()) {
    const bool works = name.ends_with("Async") || name == "cuLaunchKernel" || name == "cuGraphLaunch" ||
                       name == "cuGraphExecKernelNodeSetParams" || name == "cuEventRecord" || name == "cuEventQuery" ||
                       name == "cuEventSynchronize" || name == "cuStreamWaitEvent" || name == "cuStreamWaitValue64" ||
                       name.starts_with("cuCtx");
    const auto old = before.find(name);
    EXPECT_TRUE(works || (old != before.end() && old->second == count)) << name << " in a run";
  }
  EXPECT_EQ(driver.count("cuGraphLaunch"), 4 * 5);
  EXPECT_EQ(driver.count("cublasLtMatmul"), 4 + 4);  // for each of two rotating buffers, called once beforehand and captured once
}

TEST(CudaGraphs, TryAlgorithmsOnRealNumbers) {
  const Planned planned = plan_on_cuda(training(2), Where::accelerator);
  const test::TemporaryFolder folder;
  FakeDriver driver;
  {
    const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, false, folder.path("kept")));
    ASSERT_TRUE(executor);
    EXPECT_GT(driver.count("cuEventElapsedTime"), 0);
    EXPECT_EQ(driver.products_of_nan(), 0);
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

// --- failures ----------------------------------------------------------------------------------------------------------------------------

TEST(CudaGraphs, MakeOneErrorOfEachFailingCall) {
  const Planned planned = plan_on_cuda(exchanging_program(2), Where::accelerator);
  RunOptions run_options;
  run_options.inputs = random_inputs(*planned.program->graph, 1);
  std::int64_t opening = 0;  // calls before the first run, including those of trials, one of which may fail
  {
    const test::TemporaryFolder folder;
    FakeDriver driver(Schedule::eager);
    ASSERT_TRUE(executor_for(planned, graph_setup(driver, false, folder.path("kept"))));
    opening = driver.calls();
  }
  for (const CUresult code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED}) {
    const std::int64_t stride = code == CUDA_ERROR_OUT_OF_MEMORY ? 1 : 7;  // after a lost context all calls fail alike
    for (std::int64_t n = 1;; n += stride) {
      SCOPED_TRACE("call " + std::to_string(n) + " fails with " + std::to_string(code));
      const test::TemporaryFolder folder;
      FakeDriver driver(Schedule::eager);
      driver.fail_call(n, code);
      {
        const ExecutorSetup options = graph_setup(driver, false, folder.path("kept"));
        auto executor = Executor::create(planned.program, planned.costs, options);
        Status status = executor ? Status() : executor.error();
        if (executor) {
          const auto result = (*executor)->run(run_options);
          if (!result) status = result.error();
        }
        if (driver.failed().empty()) break;
        const bool trial = n < opening && (driver.failed().starts_with("cublas") || driver.failed().starts_with("cuEvent") ||
                                           driver.failed().starts_with("cuMem"));
        if (status.ok()) {
          EXPECT_TRUE(driver.failed_without_harm() || trial) << driver.failed();
          continue;
        }
        EXPECT_EQ(status.error().kind, ErrorKind::machine);
        if (executor) {
          const auto again = (*executor)->run(run_options);
          EXPECT_EQ(again.ok(), code == CUDA_ERROR_OUT_OF_MEMORY) << driver.failed() << (again.ok() ? "" : ": " + again.error().message);
        }
      }
      EXPECT_EQ(driver.leaks(), "") << driver.failed();
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty()) << driver.failed();
      ASSERT_LT(n, 2000);
      if (HasFailure()) return;
    }
  }
}

TEST(CudaGraphs, EndWhereOneFailsOnTheDevice) {
  const Planned planned = plan_on_cuda(exchanging_program(3), Where::accelerator);
  RunOptions options;
  options.inputs = random_inputs(*planned.program->graph, 1);
  int named = 0;
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE("command " + std::to_string(n));
    FakeDriver driver(Schedule::random, static_cast<std::uint64_t>(n));
    {
      const std::unique_ptr<Executor> executor = executor_for(planned, graph_setup(driver, false));
      ASSERT_TRUE(executor);
      driver.fail_command(n);
      const auto result = executor->run(options);
      if (result.ok()) break;
      EXPECT_EQ(result.error().kind, ErrorKind::machine);
      EXPECT_THAT(result.error().message, HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
      named += result.error().message.find("some launched as one: in stream mode each is by itself") != std::string::npos;
      const auto again = executor->run(options);
      ASSERT_FALSE(again.ok());
      EXPECT_THAT(again.error().message, HasSubstr("lost"));
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    ASSERT_LT(n, 1000);
    if (HasFailure()) return;
  }
  EXPECT_GT(named, 0);
}

}  // namespace
}  // namespace cleave::testing
