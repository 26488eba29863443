// Matrix products of f32 under the precision bf16, on the fake driver: each operand is rounded once, constants before the first run, and
// the results are those of the rounded operands.
#include <gmock/gmock.h>

#include "executor/cuda/back_end.h"
#include "graph/states.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;

ExecutorSetup rounded_setup(FakeDriver& driver, bool stream_mode = true) {
  cuda::CudaOptions cuda_options;
  cuda_options.precision = Precision::bf16;
  cuda_options.stream_mode = stream_mode;
  ExecutorSetup options{{}, cuda::back_end(), 0};
  options.precision = Precision::bf16;
  options.back_end.open = driver.opener(cuda_options);
  options.watchdog_seconds = 20;
  return options;
}

Array random_numbers(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Array array(TensorType{DType::f32, shape});
  for (float& x : std::span(array.mutable_data<float>(), static_cast<std::size_t>(array.size())))
    x = static_cast<float>(random() % 2001) / 1000 - 1;
  return array;
}

Array rounded(const Array& array) {
  return call_op("astype", {call_op("astype", {array}, {{"dtype", DType::bf16}})}, {{"dtype", DType::f32}});
}
Array product(const Array& a, const Array& b) {
  return call_op("matmul", {rounded(a), rounded(b)});
}

void expect_near(const Result<RunResult>& result, const char* name, const Array& should) {
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(difference(*result->output(name), should, 8).value_or(""), "");
}

std::int64_t casts(const FakeDriver& driver) {
  const auto found = driver.launches().find("astype");
  return found == driver.launches().end() ? 0 : found->second;
}

/// y = relu(x w + bias) v, with the weights w and v constants, or inputs.
std::shared_ptr<const Graph> layers(bool constant) {
  Tracer tracer("layers");
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return constant ? tracer.constant(random_numbers(shape, seed), line(1)) : tracer.input(name, {DType::f32, shape}, {}, line(1));
  };
  const Operand x = tracer.input("x", {DType::f32, {3, 5}}, {}, line(1));
  const Operand bias = tracer.input("bias", {DType::f32, {4}}, {}, line(1));
  const Operand w = weight("w", {5, 4}, 1), v = weight("v", {4, 6}, 2);
  const Operand first = call(tracer, "add", {call(tracer, "matmul", {x, w}, 2), bias}, 2);
  tracer.output("y", call(tracer, "matmul", {call(tracer, "relu", {first}, 3), v}, 4), line(5));
  return std::make_shared<const Graph>(tracer.finish());
}

TEST(CudaRounded, WeightsAreRoundedOnceAndWhatIsComputedInEachRun) {
  for (const bool stream_mode : {true, false}) {
    for (const bool constant : {true, false}) {
      SCOPED_TRACE(std::to_string(stream_mode) + std::to_string(constant));
      FakeDriver driver;
      const Planned planned = plan_on_cuda(layers(constant), Where::accelerator);
      {
        const std::unique_ptr<Executor> executor = executor_for(planned, rounded_setup(driver, stream_mode));
        ASSERT_TRUE(executor);
        for (std::uint64_t run = 0; run < 3; ++run) {
          const std::int64_t before = casts(driver);
          const Array x = random_numbers({3, 5}, 10 + run), bias = random_numbers({4}, 20 + run);
          const Array w = random_numbers({5, 4}, constant ? 1 : 30 + run), v = random_numbers({4, 6}, constant ? 2 : 40 + run);
          RunOptions options;
          options.inputs = {{"x", x}, {"bias", bias}};
          if (!constant) options.inputs.insert({{"w", w}, {"v", v}});
          const Array first = call_op("relu", {call_op("add", {product(x, w), bias})});
          expect_near(executor->run(options), "y", product(first, v));
          // In each run, x, the value between the layers, and weights that are inputs are rounded; constants are rounded before the first
          // run.
          EXPECT_EQ(casts(driver) - before, 2 + (run == 0 || !constant ? 2 : 0)) << run;
          if (HasFailure()) return;
        }
      }
      EXPECT_EQ(driver.leaks(), "");
      EXPECT_THAT(driver.misuses(), IsEmpty());
    }
  }
}

TEST(CudaRounded, ALoopReadsWeightsThatWereRoundedBefore) {
  Tracer tracer("loop");
  const Array weight = random_numbers({4, 4}, 2);
  const Operand w = tracer.constant(weight, line(1));
  const Tracer::State state{"x", tracer.input("x", {DType::f32, {2, 4}}, {}, line(1)), line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 5, 0}, std::span(&state, 1), line(2));
  const Tracer::State yielded{"x", call(tracer, "tanh", {call(tracer, "matmul", {loop.inside[0], w}, 3)}, 3), line(4)};
  tracer.output("x", tracer.end_for(std::span(&yielded, 1))[0], line(5));
  FakeDriver driver;
  const Planned planned = plan_on_cuda(std::make_shared<const Graph>(tracer.finish()), Where::accelerator);
  const std::unique_ptr<Executor> executor = executor_for(planned, rounded_setup(driver));
  ASSERT_TRUE(executor);
  RunOptions options;
  Array x = random_numbers({2, 4}, 1);
  options.inputs = {{"x", x}};
  const Result<RunResult> result = executor->run(options);
  for (int trip = 0; trip < 5; ++trip) x = call_op("tanh", {product(x, weight)});
  expect_near(result, "x", x);
  EXPECT_EQ(casts(driver), 5 + 1);
}

TEST(CudaRounded, AnOperandThatIsBothIsRoundedOnce) {
  for (const bool given : {true, false}) {
    Tracer tracer("square");
    Operand x = tracer.input("x", {DType::f32, {4, 4}}, {}, line(1));
    if (!given) x = call(tracer, "tanh", {x}, 2);
    tracer.output("y", call(tracer, "matmul", {x, x}, 3), line(4));
    FakeDriver driver;
    const Planned planned = plan_on_cuda(std::make_shared<const Graph>(tracer.finish()), Where::accelerator);
    const std::unique_ptr<Executor> executor = executor_for(planned, rounded_setup(driver));
    ASSERT_TRUE(executor);
    RunOptions options;
    options.inputs = {{"x", random_numbers({4, 4}, 3)}};
    const Array read = given ? options.inputs.at("x") : call_op("tanh", {options.inputs.at("x")});
    expect_near(executor->run(options), "y", product(read, read));
    EXPECT_EQ(casts(driver), 1);
  }
}

TEST(CudaRounded, AStateIsReadAsItIsInEachRun) {
  Tracer tracer("state");
  const Operand s = tracer.input("s", {DType::f32, {4, 4}}, {}, line(1)), w = tracer.input("w", {DType::f32, {4, 4}}, {}, line(1));
  const Operand y = call(tracer, "matmul", {s, w}, 2);
  tracer.output("y", y, line(3));
  tracer.output("next", call(tracer, "tanh", {y}, 3), line(3));
  Graph graph = tracer.finish();
  ASSERT_TRUE(keep_state(graph, "s", "next").ok());
  FakeDriver driver;
  const Planned planned = plan_on_cuda(std::make_shared<const Graph>(std::move(graph)), Where::accelerator);
  const std::unique_ptr<Executor> executor = executor_for(planned, rounded_setup(driver));
  ASSERT_TRUE(executor);
  Array state = random_numbers({4, 4}, 4);
  const Array weight = random_numbers({4, 4}, 5);
  for (int run = 0; run < 4; ++run) {
    RunOptions options;
    options.inputs = {{"w", weight}};
    if (run == 0) options.inputs.emplace("s", state);
    const Array should = product(state, weight);
    expect_near(executor->run(options), "y", should);
    if (HasFailure()) return;
    state = call_op("tanh", {should});
  }
}

TEST(CudaRounded, AKernelOfOurOwnTakesTheOperandsAsTheyAre) {
  FakeDriver driver;
  driver.offer(FakeDriver::Algorithms::none);
  const Planned planned = plan_on_cuda(layers(true), Where::accelerator);
  const std::unique_ptr<Executor> executor = executor_for(planned, rounded_setup(driver));
  ASSERT_TRUE(executor);
  RunOptions options;
  const Array x = random_numbers({3, 5}, 10), bias = random_numbers({4}, 20);
  options.inputs = {{"x", x}, {"bias", bias}};
  const Array first = call_op("relu", {call_op("add", {call_op("matmul", {x, random_numbers({5, 4}, 1)}), bias})});
  expect_near(executor->run(options), "y", call_op("matmul", {first, random_numbers({4, 6}, 2)}));
  EXPECT_EQ(casts(driver), 0);
}

TEST(CudaRounded, EachFailingCallIsOneError) {
  const Planned planned = plan_on_cuda(layers(true), Where::accelerator);
  int errors = 0;
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    FakeDriver driver(FakeDriver::Schedule::eager);
    driver.fail_call(n, CUDA_ERROR_OUT_OF_MEMORY);
    {
      const Result<std::unique_ptr<Executor>> executor =
          Executor::create(planned.program, planned.costs, rounded_setup(driver, n % 2 == 0));
      RunOptions options;
      options.inputs = {{"x", random_numbers({3, 5}, 10)}, {"bias", random_numbers({4}, 20)}};
      const Result<RunResult> result = executor ? (*executor)->run(options) : executor.error();
      if (driver.failed().empty()) break;
      errors += result.ok() ? 0 : 1;
      if (!result.ok()) {
        EXPECT_EQ(result.error().kind, ErrorKind::machine);
        EXPECT_TRUE(!executor || (*executor)->run(options).ok()) << driver.failed();
      }
    }
    EXPECT_EQ(driver.leaks(), "") << driver.failed();
    EXPECT_THAT(driver.misuses(), IsEmpty()) << driver.failed();
    ASSERT_LT(n, 2000);
    if (HasFailure()) return;
  }
  EXPECT_GT(errors, 100);
}

}  // namespace
}  // namespace cleave::testing
