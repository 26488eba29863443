// Waits for the device: how long a thread polls before it sleeps, and that every event that must end the sleep does.
#include <gmock/gmock.h>

#include "executor/cuda/back_end.h"
#include "executor/cuda/waiting.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using cuda::Lookout;
using std::chrono::microseconds;
using ::testing::HasSubstr;

/// The number of polls, one per microsecond, in a wait with this many cores and other threads; `taken(look)`: time that other threads take
/// from its core.
int looks(
    int cores, int others, const std::function<std::int64_t(int)>& taken = [](int) { return 0; }) {
  int seen = 0;
  Lookout lookout(cores, others, [&] {
    const Lookout::Sight sight{Lookout::Clock::time_point(microseconds(seen)), 7 + taken(seen)};
    ++seen;
    return sight;
  });
  int count = 0;
  while (lookout.goes_on()) ++count;
  EXPECT_FALSE(lookout.goes_on());  // for the rest of the wait
  return count;
}

TEST(CudaWaiting, LooksOnForAMillisecondWhereACoreIsFree) {
  EXPECT_EQ(looks(2, 1), 999);
  EXPECT_EQ(looks(64, 3), 999);
}

TEST(CudaWaiting, SleepsAtOnceWhereEveryCoreHasItsThread) {
  EXPECT_EQ(looks(1, 1), 0);
  EXPECT_EQ(looks(4, 4), 0);
  EXPECT_EQ(looks(4, 9), 0);
}

TEST(CudaWaiting, SleepsOnceOthersTakeItsCore) {
  EXPECT_EQ(looks(2, 1, [](int look) { return look >= 40 ? Lookout::kMostTaken : 0; }), 999);
  EXPECT_EQ(looks(2, 1, [](int look) { return look / 10; }), 29);
}

/// for i in 20: w = w + x * host(w), with one value sent in each direction per iteration.
std::shared_ptr<const Graph> halving_program() {
  Tracer tracer("program");
  const TensorType type{DType::f32, {4}};
  const Operand x = tracer.input("x", type, {}, line(1));
  const Tracer::State state{"w", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 20, 0}, std::span(&state, 1), line(2));
  auto function = std::make_shared<HostFunction>();
  function->name = "halve";
  function->returns = {type};
  function->pure = true;
  function->call = [](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
    for (int i = 0; i < 4; ++i) results[0].mutable_data<float>()[i] = inputs[0].data<float>()[i] / 2;
    return {};
  };
  const Operand half =
      call(tracer, "host_call", {loop.inside[0]}, 3, {{"function", std::shared_ptr<const HostFunction>(std::move(function))}});
  const Tracer::State yielded{"w", call(tracer, "add", {call(tracer, "multiply", {half, x}, 4), x}, 4), line(5)};
  tracer.output("w", tracer.end_for(std::span(&yielded, 1))[0], line(6));
  return std::make_shared<const Graph>(tracer.finish());
}

RunOptions quarters() {
  Array x(TensorType{DType::f32, {4}});
  for (int i = 0; i < 4; ++i) x.mutable_data<float>()[i] = 0.25F * static_cast<float>(i);
  RunOptions options;
  options.inputs = {{"x", x}};
  return options;
}

ExecutorSetup waiting_setup(FakeDriver& driver, int cores, double watchdog_seconds) {
  cuda::CudaOptions options;
  options.streams = {8, 0.1, cores};
  ExecutorSetup setup{{}, cuda::back_end(), 0};
  setup.back_end.open = driver.opener(options);
  setup.watchdog_seconds = watchdog_seconds;
  return setup;
}

TEST(CudaWaiting, ComesToTheSameAsleepAndAwake) {
  const auto graph = halving_program();
  const Outcome expected = run_with(quarters(), [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const int cores = seed % 2 == 0 ? 1 : 64;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", cores " + std::to_string(cores));
    FakeDriver driver(static_cast<FakeDriver::Schedule>(seed % 3), seed);
    {
      const std::unique_ptr<Executor> executor = executor_for(planned, waiting_setup(driver, cores, 20));
      ASSERT_TRUE(executor);
      expect_equal(run_with(quarters(), [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    }
    if (cores == 1 && seed % 3 != 0) {
      EXPECT_GT(driver.count("cuEventSynchronize"), 0);
    }
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    EXPECT_EQ(driver.leaks(), "");
  }
}

TEST(CudaWaiting, IsCalledOffAsleepToo) {
  const Planned planned = plan_on_cuda(halving_program(), Where::accelerator);
  for (const std::int64_t command : {2, 5, 9}) {
    SCOPED_TRACE("command " + std::to_string(command));
    FakeDriver driver(FakeDriver::Schedule::latest);
    driver.stall_command(command);
    const std::unique_ptr<Executor> executor = executor_for(planned, waiting_setup(driver, 1, 0.2));
    ASSERT_TRUE(executor);
    const Result<RunResult> result = executor->run(quarters());
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message, HasSubstr("nothing has run for"));
    EXPECT_GT(driver.count("cuEventSynchronize"), 0);
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace cleave::testing
