// The CUDA back end on the fake driver: calls that it must never make during a run, the Error for each failure of each driver call, and
// that nothing hangs, leaks or continues after an error.
#include <gmock/gmock.h>

#include <algorithm>

#include "executor/cuda/back_end.h"
#include "executor/cuda/shared_library.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;
using Schedule = FakeDriver::Schedule;

std::shared_ptr<const HostFunction> halving_function() {
  auto function = std::make_shared<HostFunction>();
  function->name = "halve";
  function->returns = {TensorType{DType::f32, {4}}};
  function->pure = true;
  function->call = [](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
    for (int i = 0; i < 4; ++i) results[0].mutable_data<float>()[i] = inputs[0].data<float>()[i] / 2;
    return {};
  };
  return function;
}

/// for i in `trips`: w = take(halve(w * x + w), index). Both the device and the host work in every iteration.
std::shared_ptr<const Graph> trip_program(std::int64_t trips, bool on_host_too = true) {
  Tracer tracer("program");
  const Operand x = tracer.input("x", {DType::f32, {4}}, {}, line(1));
  const Operand index = tracer.input("index", {DType::i32, {4}}, {}, line(1));
  const Tracer::State state{"w", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, trips, 0}, std::span(&state, 1), line(2));
  const Operand w = loop.inside[0];
  Operand next = call(tracer, "add", {call(tracer, "multiply", {w, x}, 3), w}, 3);
  if (on_host_too) next = call(tracer, "host_call", {next}, 4, {{"function", halving_function()}});
  next = call(tracer, "take", {next, index}, 5, {{"axis", std::int64_t{0}}});
  const Tracer::State yielded{"w", next, line(6)};
  tracer.output("w", tracer.end_for(std::span(&yielded, 1))[0], line(7));
  return std::make_shared<const Graph>(tracer.finish());
}

RunOptions trip_inputs(std::int32_t first_index = 3) {
  RunOptions options;
  Array x(TensorType{DType::f32, {4}}), index(TensorType{DType::i32, {4}});
  for (int i = 0; i < 4; ++i) {
    x.mutable_data<float>()[i] = 0.25F * static_cast<float>(i);
    index.mutable_data<std::int32_t>()[i] = i == 0 ? first_index : 3 - i;
  }
  options.inputs = {{"x", x}, {"index", index}};
  return options;
}

ExecutorSetup device_setup(FakeDriver& driver, int events = 8) {
  cuda::CudaOptions cuda_options;
  cuda_options.streams = {events, 0.1};
  cuda_options.upload_bytes = 256;
  ExecutorSetup options{{}, cuda::back_end(), 0};
  options.back_end.open = driver.opener(cuda_options);
  options.watchdog_seconds = 20;
  return options;
}

/// Opens an executor and runs once. Returns the first failure.
Status open_and_run(const Planned& planned, const ExecutorSetup& options, std::unique_ptr<Executor>& executor) {
  Result<std::unique_ptr<Executor>> opened = Executor::create(planned.program, planned.costs, options);
  if (!opened) return opened.error();
  executor = *std::move(opened);
  Result<RunResult> result = executor->run(trip_inputs());
  return result ? Status() : result.error();
}

TEST(CudaDevice, SaysWhichPieceIsMissing) {
  const auto none = cuda::SharedLibrary::open({"libno-such-thing.so.1", "libnor-this.so"}, "the NVIDIA driver");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("the NVIDIA driver cannot be opened: libno-such-thing.so.1"));
  EXPECT_EQ(none.error().kind, ErrorKind::machine);
  auto library = cuda::SharedLibrary::open({"libc.so.6"}, "the C library");
  ASSERT_TRUE(library.ok());
  void* (*function)(std::size_t) = nullptr;
  library->find("malloc", function);
  EXPECT_TRUE(function);
  EXPECT_TRUE(library->complete().ok());
  library->find("cuFromTheFuture_v9", function);
  ASSERT_FALSE(library->complete().ok());
  EXPECT_THAT(library->complete().error().message,
              HasSubstr("libc.so.6 is too old for this build of cleave: it has no cuFromTheFuture_v9"));
}

TEST(CudaDevice, OpensTheContextOnceForAllDevicesOfAProcess) {
  FakeDriver driver;
  const auto planned = plan_on_cuda(trip_program(3), Where::accelerator);
  ExecutorSetup options{{}, cuda::back_end(), 0};
  options.back_end.open = [&driver, contexts = std::make_shared<cuda::Contexts>(FakeDriver::api().driver)](auto&&...) {
    cuda::Api api = FakeDriver::api();
    api.contexts = contexts;
    cuda::CudaOptions cuda_options;
    cuda_options.cache_folder.clear();
    cuda_options.coalesced_copy = [&driver](std::span<const Piece> pieces, bool unpacks) { return driver.coalesced_copy(pieces, unpacks); };
    cuda_options.source = [&driver](const KernelRequest& request, const cuda::Architecture& a) { return driver.source(request, a); };
    return cuda::CudaDevice::open(api, cuda_options);
  };
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<Executor> executor;
    ASSERT_TRUE(open_and_run(planned, options, executor).ok());
  }
  EXPECT_EQ(driver.count("cuDevicePrimaryCtxRetain"), 1);
  EXPECT_EQ(driver.count("cuDevicePrimaryCtxRelease"), 0);
  options.back_end.open = nullptr;
  EXPECT_EQ(driver.count("cuDevicePrimaryCtxRelease"), 1);
  EXPECT_EQ(driver.leaks(), "");
}

TEST(CudaDevice, LaunchesNoMoreBlocksThanRunAtOnce) {
  constexpr std::int64_t kMany = std::int64_t{132} * 8 * 256 * 4 + 1;  // more than the device holds at once, four per thread
  Tracer tracer("program");
  const Operand x = tracer.input("x", {DType::f32, {kMany}}, {}, line(1));
  tracer.output("y", call(tracer, "divide", {x, x}, 2), line(3));
  const Planned planned = plan_on_cuda(std::make_shared<const Graph>(tracer.finish()), Where::accelerator);
  RunOptions many;
  many.inputs = {{"x", Array(TensorType{DType::f32, {kMany}})}};
  for (const bool stream_mode : {false, true}) {
    for (const int held : {8, 6, 1}) {
      FakeDriver driver;
      driver.hold_blocks(held);
      cuda::CudaOptions options;
      options.stream_mode = stream_mode;
      ExecutorSetup setup{{}, cuda::back_end(), 0};
      setup.back_end.open = driver.opener(options);
      const std::unique_ptr<Executor> executor = executor_for(planned, setup);
      ASSERT_TRUE(executor);
      ASSERT_TRUE(executor->run(many).ok());
      EXPECT_EQ(driver.widest_grid(), 132U * static_cast<unsigned>(held));
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    }
  }
}

TEST(CudaDevice, ListsWhatThereIsOrWhyNot) {
  const BackEnd back_end = cuda::back_end();
  const std::vector<FoundDevice> found = back_end.find();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(back_end.usable().ok(), found[0].why.empty());
  for (const FoundDevice& each : found) EXPECT_NE(each.why.empty(), each.description.empty());
}

TEST(CudaDevice, RefusesAGpuThatIsNotThere) {
  FakeDriver driver;
  cuda::CudaOptions options;
  options.ordinal = 1;
  const auto device = driver.opener(options)(0, {});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().message, "no GPU 1: there is one GPU, 0");
  EXPECT_EQ(driver.leaks(), "");
}

TEST(CudaDevice, CreatesAndWaitsForNothingInTheSteadyState) {
  FakeDriver driver;
  const Planned planned = plan_on_cuda(trip_program(20), Where::accelerator);
  {
    const std::unique_ptr<Executor> executor = executor_for(planned, device_setup(driver));
    ASSERT_TRUE(executor);
    ASSERT_TRUE(executor->run(trip_inputs()).ok());
    const std::map<std::string, std::int64_t> before = driver.counts();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor->run(trip_inputs()).ok());
    for (const auto& [name, count] : driver.counts()) {
      const bool works = name.ends_with("Async") || name == "cuLaunchKernel" || name == "cuGraphLaunch" ||
                         name == "cuGraphExecKernelNodeSetParams" || name == "cuEventRecord" || name == "cuEventQuery" ||
                         name == "cuEventSynchronize" || name == "cuStreamWaitEvent" || name == "cuStreamWaitValue64" ||
                         name.starts_with("cuCtx");
      const auto old = before.find(name);
      EXPECT_TRUE(works || (old != before.end() && old->second == count)) << name << " in a run";
    }
    EXPECT_GE(driver.count("cuLaunchKernel"), 2 * 20 * 3);  // `w * x + w` is one launch
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

TEST(CudaDevice, MakesOneErrorOfEachFailingCall) {
  const Planned planned = plan_on_cuda(trip_program(3), Where::accelerator);
  for (const CUresult code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED}) {
    for (std::int64_t n = 1;; ++n) {
      SCOPED_TRACE("call " + std::to_string(n) + " fails with " + std::to_string(code));
      FakeDriver driver(Schedule::eager);
      driver.fail_call(n, code);
      {
        std::unique_ptr<Executor> executor;
        const Status status = open_and_run(planned, device_setup(driver), executor);
        if (driver.failed().empty()) break;
        if (status.ok() && driver.failed_without_harm()) continue;  // the failed call has no effect on the run
        ASSERT_FALSE(status.ok()) << driver.failed() << " failed";
        EXPECT_EQ(status.error().kind, ErrorKind::machine);
        // A lost context also fails the calls of the other thread, and either failure may be reported first.
        const std::string later = code == CUDA_ERROR_LAUNCH_FAILED ? "failed: CUDA_ERROR_LAUNCH_FAILED" : driver.failed();
        const char* compiling = "as asked of the fake compiler";  // if the next call is not the driver's
        EXPECT_THAT(status.error().message, ::testing::AnyOf(HasSubstr(driver.failed()), HasSubstr(later), HasSubstr(compiling)));
        if (executor) {
          EXPECT_EQ(executor->run(trip_inputs()).ok(), code == CUDA_ERROR_OUT_OF_MEMORY) << driver.failed();
        }
      }
      EXPECT_EQ(driver.leaks(), "") << driver.failed();
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty()) << driver.failed();
      if (HasFailure()) return;
    }
  }
}

TEST(CudaDevice, EndsWhereACommandFailsOnTheDevice) {
  const Planned planned = plan_on_cuda(trip_program(3), Where::accelerator);
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE("command " + std::to_string(n));
    FakeDriver driver(Schedule::random, static_cast<std::uint64_t>(n));
    driver.fail_command(n);
    {
      std::unique_ptr<Executor> executor;
      const Status status = open_and_run(planned, device_setup(driver), executor);
      if (status) break;
      EXPECT_EQ(status.error().kind, ErrorKind::machine);
      EXPECT_THAT(status.error().message, HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
      ASSERT_TRUE(executor);
      const auto again = executor->run(trip_inputs());
      ASSERT_FALSE(again.ok());
      EXPECT_THAT(again.error().message, HasSubstr("lost"));
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    ASSERT_LT(n, 1000);
    if (HasFailure()) return;
  }
}

TEST(CudaDevice, IsLostToTheWholeProcess) {
  const Planned planned = plan_on_cuda(trip_program(3), Where::accelerator);
  FakeDriver driver;
  driver.fail_command(4);
  const ExecutorSetup setup = device_setup(driver);
  std::unique_ptr<Executor> executor;
  ASSERT_FALSE(open_and_run(planned, setup, executor).ok());
  for (const bool closed : {false, true}) {
    if (closed) executor.reset();
    const Result<std::unique_ptr<Executor>> again = Executor::create(planned.program, planned.costs, setup);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().kind, ErrorKind::machine);
    EXPECT_THAT(again.error().message, HasSubstr("GPU 0 was lost earlier in this process, and only a new process can use it again"));
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

TEST(CudaDevice, GivesUpOnACommandThatNeverEnds) {
  const Planned planned = plan_on_cuda(trip_program(3), Where::accelerator);
  for (const std::int64_t n : {3, 4, 8}) {
    SCOPED_TRACE("command " + std::to_string(n));
    FakeDriver driver;
    driver.stall_command(n);
    ExecutorSetup options = device_setup(driver);
    options.watchdog_seconds = 0.2;
    std::unique_ptr<Executor> executor;
    const Status status = open_and_run(planned, options, executor);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("nothing has run for"));
    const auto again = executor->run(trip_inputs());
    ASSERT_FALSE(again.ok());
    EXPECT_THAT(again.error().message, HasSubstr("lost"));
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }
}

TEST(CudaDevice, TellsWhereTheDataAreWrong) {
  const Planned planned = plan_on_cuda(trip_program(3), Where::accelerator);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeDriver driver(static_cast<Schedule>(seed % 3), seed);
    const std::unique_ptr<Executor> executor = executor_for(planned, device_setup(driver));
    ASSERT_TRUE(executor);
    const auto wrong = executor->run(trip_inputs(17));
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::user) << wrong.error().message;
    EXPECT_EQ(wrong.error().location.line, 5) << wrong.error().message;
    EXPECT_TRUE(executor->run(trip_inputs()).ok());
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }
}

TEST(CudaDevice, EnqueuesNoFurtherAheadThanTheEventsReach) {
  const auto graph = trip_program(1500, false);
  const Outcome expected = run_with(trip_inputs(), [&](const RunOptions& o) { return run_reference(*graph, o); });
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  for (const Schedule schedule : {Schedule::eager, Schedule::latest, Schedule::random}) {
    FakeDriver driver(schedule);
    const std::unique_ptr<Executor> executor = executor_for(planned, device_setup(driver, 4));
    ASSERT_TRUE(executor);
    const Outcome outcome = run_with(trip_inputs(), [&](const RunOptions& o) { return executor->run(o); });
    expect_equal(outcome, expected, false);
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }
}

TEST(CudaDevice, AnEventThatIsAwaitedStandsBehindItsOwnCommandAndNoLaterOne) {
  FakeDriver driver(Schedule::latest);
  Result<std::unique_ptr<Device>> device = driver.opener()(0, {});
  ASSERT_TRUE(device);
  ASSERT_TRUE((*device)->allocate(1024, {}));
  RunState run;
  ASSERT_TRUE((*device)->begin_run(run));
  const auto fill = [&] { ASSERT_TRUE((*device)->fill({0, 4}, 1, {})); };
  const auto records = [&] { return driver.count("cuEventRecord"); };
  fill();
  (*device)->streams().record(Stream::compute);
  EXPECT_EQ(records(), 0);
  fill();
  const Event awaited = (*device)->streams().record_awaited(Stream::compute);
  EXPECT_EQ(records(), 1);
  fill();
  ASSERT_TRUE((*device)->streams().wait(Stream::to_device, awaited));
  EXPECT_EQ(records(), 1);  // otherwise the wait would include the whole stream
  EXPECT_EQ(driver.count("cuStreamWaitEvent"), 1);
  (*device)->end_run();
}

}  // namespace
}  // namespace cleave::testing
