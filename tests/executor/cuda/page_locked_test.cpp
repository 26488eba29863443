// Page-locked arrays on the fake driver: their memory is the driver's, is freed once, and devices copy directly from and to it.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "executor/cuda/back_end.h"
#include "executor/cuda/page_locked.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "graph/trace/tracer.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

/// The host address of every copy, in order, as passed to the driver.
std::vector<const void*> noted_sources, noted_targets;
decltype(&cuMemcpyHtoDAsync) driver_to_device;
decltype(&cuMemcpyDtoHAsync) driver_to_host;

/// How long each copy to the device takes the driver's caller.
std::chrono::milliseconds copies_take{0};

/// The fake driver's function table, with copies recorded.
cuda::Api noting_api() {
  cuda::Api api = FakeDriver::api();
  driver_to_device = api.driver.cuMemcpyHtoDAsync;
  driver_to_host = api.driver.cuMemcpyDtoHAsync;
  noted_sources.clear();
  noted_targets.clear();
  api.driver.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    noted_sources.push_back(from);
    std::this_thread::sleep_for(copies_take);
    return driver_to_device(to, from, bytes, stream);
  };
  api.driver.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    noted_targets.push_back(to);
    return driver_to_host(to, from, bytes, stream);
  };
  return api;
}

std::shared_ptr<cuda::Context> context() {
  return *cuda::Context::open(FakeDriver::api().driver, 0);
}

ExecutorSetup noting_setup(FakeDriver& driver) {
  cuda::CudaOptions cuda_options;
  cuda_options.cache_folder.clear();
  cuda_options.source = [&driver](const KernelRequest& request, const cuda::Architecture& a) { return driver.source(request, a); };
  ExecutorSetup options{{}, cuda::back_end(), 0};
  options.back_end.open = [api = noting_api(), cuda_options](auto&&...) { return cuda::CudaDevice::open(api, cuda_options); };
  options.watchdog_seconds = 20;
  return options;
}

constexpr std::int64_t kSize = 20000;  ///< too large for a coalesced transfer, since coalescing copies the values

/// sum = x + y
std::shared_ptr<const Graph> addition() {
  Tracer tracer("addition");
  const SourceLocation here{std::make_shared<const std::string>("model.yaml"), 1, 1, nullptr};
  const Operand operands[] = {tracer.input("x", {DType::f32, {kSize}}, {}, here), tracer.input("y", {DType::f32, {kSize}}, {}, here)};
  tracer.output("sum", tracer.call(*find_op("add"), operands, {}, here), here);
  return std::make_shared<const Graph>(tracer.finish());
}

Array locked(std::initializer_list<float> values) {
  Result<Array> array = cuda::page_locked(context(), {DType::f32, {static_cast<std::int64_t>(values.size())}});
  if (!array) ADD_FAILURE() << array.error().message;
  std::copy(values.begin(), values.end(), array->mutable_data<float>());
  return *array;
}

/// An array of kSize equal numbers.
Array many(float value) {
  Array array({DType::f32, {kSize}});
  std::fill_n(array.mutable_data<float>(), kSize, value);
  return array;
}
Array locked_many(float value) {
  Result<Array> array = cuda::page_locked(context(), {DType::f32, {kSize}});
  if (!array) ADD_FAILURE() << array.error().message;
  std::fill_n(array->mutable_data<float>(), kSize, value);
  return *std::move(array);
}

bool among(const std::vector<const void*>& all, const Array& array) {
  return std::find(all.begin(), all.end(), array.bytes()) != all.end();
}

TEST(CudaPageLocked, IsTheDriversMemoryAndGivenBackOnceFromAnyThread) {
  FakeDriver driver;
  {
    const Array array = locked({1, 2, 3});
    EXPECT_EQ(array.page_lock(), PageLock::accelerator);
    EXPECT_EQ(driver.count("cuMemHostAlloc"), 1);
    EXPECT_EQ(cuda::page_locked(context(), {DType::f32, {0}})->size(), 0);
    Array last = array;
    std::thread([last = std::move(last)]() mutable { last = Array(); }).join();
  }
  EXPECT_EQ(driver.count("cuMemFreeHost"), 2);
  std::thread([array = locked({1})] {}).join();
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_EQ(driver.misuses(), std::vector<std::string>());
}

TEST(CudaPageLocked, SaysWhyThereIsNone) {
  {
    FakeDriver driver;
    const auto beyond = cuda::Context::open(FakeDriver::api().driver, 1);
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().message, "no GPU 1: there is one GPU, 0");
  }
  std::int64_t failures = 0;
  for (std::int64_t call = 1;; ++call) {
    FakeDriver driver;
    driver.fail_call(call, CUDA_ERROR_OUT_OF_MEMORY);
    const Result<Array> array = []() -> Result<Array> {
      Result<std::shared_ptr<cuda::Context>> opened = cuda::Context::open(FakeDriver::api().driver, 0);
      if (!opened) return opened.error();
      return cuda::page_locked(*std::move(opened), {DType::f32, {1}});
    }();
    if (array.ok() && driver.failed().empty()) break;
    if (array.ok()) {  // the failed call does not matter, or the memory exists
      EXPECT_THAT(driver.failed(), ::testing::AnyOf(HasSubstr("CtxGet"), HasSubstr("CtxPop")));
      continue;
    }
    EXPECT_EQ(array.error().kind, ErrorKind::machine);
    if (driver.failed() == "cuMemHostAlloc") {
      EXPECT_THAT(array.error().message, HasSubstr("no page-locked memory for 4 B: cuMemHostAlloc failed"));
    }
    EXPECT_EQ(driver.leaks(), "") << driver.failed();
    EXPECT_EQ(driver.misuses(), std::vector<std::string>());
    ++failures;
  }
  EXPECT_GT(failures, 5);
}

TEST(CudaPageLocked, IsCopiedFromAndToWhereItLies) {
  for (const auto schedule : {FakeDriver::Schedule::eager, FakeDriver::Schedule::latest, FakeDriver::Schedule::random}) {
    FakeDriver driver(schedule, 5);
    {
      const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(addition(), Where::accelerator), noting_setup(driver));
      ASSERT_TRUE(executor);
      RunOptions options;
      const Array y = many(10);
      options.inputs = {{"x", locked_many(2)}, {"y", y}};
      options.results = {{"sum", locked_many(0)}};
      for (int run = 0; run < 3; ++run) {
        noted_sources.clear();
        noted_targets.clear();
        const Result<RunResult> result = executor->run(options);
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(*result->output("sum"), many(12));
        EXPECT_EQ(noted_sources.size(), 2u);
        EXPECT_TRUE(among(noted_sources, options.inputs.at("x")));
        EXPECT_FALSE(among(noted_sources, y)) << "ordinary memory goes through staging";
        EXPECT_EQ(noted_targets, std::vector<const void*>{options.results.at("sum").bytes()});
      }
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_EQ(driver.misuses(), std::vector<std::string>());
  }
}

TEST(CudaPageLocked, IsWhereAHostFunctionComputesAlthoughTheDeviceIsLate) {
  FakeDriver driver;
  std::set<const float*> written;
  const auto produce = [&written](std::span<const std::int32_t> trip, std::span<float> out) {
    written.insert(out.data());
    std::fill(out.begin(), out.end(), static_cast<float>(trip[0]));
  };
  const auto graph = std::make_shared<const Graph>(trace("stream", {{"start", "f32[20000]"}}, [&](Tensor start) {
    return named("sum", for_loop(8, start, [&](Tensor step, Tensor sum) {
                   return to_accelerator(sum) + host_call("produce", {"f32[20000]"}, {.pure = true}, produce, step);
                 }));
  }));
  {
    ExecutorSetup setup = noting_setup(driver);
    setup.channel_capacity = 2;
    const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(graph, Where::accelerator), setup);
    ASSERT_TRUE(executor);
    RunOptions options;
    options.inputs = {{"start", many(1)}};
    copies_take = std::chrono::milliseconds(5);
    const Result<RunResult> result = executor->run(options);
    copies_take = {};
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(*result->output("sum"), many(1 + 28));
  }
  EXPECT_EQ(written.size(), 2U) << "a value that is computed elsewhere has to be copied";
  EXPECT_EQ(driver.misuses(), std::vector<std::string>());
}

TEST(CudaPageLocked, WhatIsSimulatedGoesThroughStaging) {
  FakeDriver driver;
  std::vector<float> memory(kSize, 3), result_memory(kSize);
  const Array x = Array::own({DType::f32, {kSize}}, memory.data(), nullptr, PageLock::simulated);
  {
    const std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(addition(), Where::accelerator), noting_setup(driver));
    ASSERT_TRUE(executor);
    RunOptions options;
    options.inputs = {{"x", x}, {"y", x}};
    options.results = {{"sum", Array::own({DType::f32, {kSize}}, result_memory.data(), nullptr, PageLock::simulated)}};
    const Result<RunResult> result = executor->run(options);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result_memory, std::vector<float>(kSize, 6));
  }
  EXPECT_EQ(driver.misuses(), std::vector<std::string>());
}

}  // namespace
}  // namespace cleave::testing
