// The CUDA context of the caller's threads, on the fake driver: whatever cleave does on a thread, the context that was current there before
// (another library's, or none) is current again afterwards.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "executor/cuda/back_end.h"
#include "executor/cuda/page_locked.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;

std::shared_ptr<const HostFunction> telling(std::function<void()> tell) {
  auto function = std::make_shared<HostFunction>();
  function->name = "tell";
  function->returns = {TensorType{DType::f32, {4}}};
  function->pure = true;
  function->call = [tell = std::move(tell)](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
    tell();
    std::copy_n(inputs[0].data<float>(), 4, results[0].mutable_data<float>());
    return {};
  };
  return function;
}

/// y = take(tell(w * x), index): the host and the device wait for each other, and the weights are uploaded.
std::shared_ptr<const Graph> telling_program(std::function<void()> tell) {
  Tracer tracer("program");
  const Operand x = tracer.input("x", {DType::f32, {4}}, {}, line(1));
  const Operand index = tracer.input("index", {DType::i32, {4}}, {}, line(1));
  const Operand w = tracer.constant(Array::of<float>({4}, {1, 2, 3, 4}), line(2));
  const Operand told = call(tracer, "host_call", {call(tracer, "multiply", {w, x}, 3)}, 4, {{"function", telling(std::move(tell))}});
  tracer.output("y", call(tracer, "take", {told, index}, 5, {{"axis", std::int64_t{0}}}), line(6));
  return std::make_shared<const Graph>(tracer.finish());
}

RunOptions indexed_inputs(std::int32_t first_index = 0) {
  RunOptions options;
  options.inputs = {{"x", Array::of<float>({4}, {1, 1, 1, 2})}, {"index", Array::of<std::int32_t>({4}, {first_index, 1, 2, 3})}};
  return options;
}

/// The parameter is the number of another library's contexts on the thread.
class CudaContext : public ::testing::TestWithParam<int> {
 protected:
  /// A new driver, whose threads have no contexts, except for the calling thread.
  FakeDriver& begin() {
    driver_.reset();
    driver_ = std::make_unique<FakeDriver>(FakeDriver::Schedule::eager);
    theirs_.clear();
    for (int i = 0; i < GetParam(); ++i) theirs_.push_back(reinterpret_cast<CUcontext>(std::uintptr_t{8} + static_cast<unsigned>(i)));
    driver_->contexts() = theirs_;
    return *driver_;
  }
  ExecutorSetup setup() {
    ExecutorSetup setup{{}, cuda::back_end(), 0};
    cuda::CudaOptions options;
    options.streams = {8, 0.1};
    setup.back_end.open = driver_->opener(options);
    setup.watchdog_seconds = 20;
    return setup;
  }
  void look(const char* after) { EXPECT_EQ(driver_->contexts(), theirs_) << after; }

  std::unique_ptr<FakeDriver> driver_;
  std::vector<CUcontext> theirs_;
};

TEST_P(CudaContext, IsAsItWasAfterEachThingThatIsDone) {
  FakeDriver& driver = begin();
  int told = 0;
  const Planned planned = plan_on_cuda(telling_program([&] {
                                         ++told;
                                         look("in a host function");
                                       }),
                                       Where::accelerator);
  {
    std::unique_ptr<Executor> executor = executor_for(planned, setup());
    ASSERT_TRUE(executor);
    look("a program was made ready");
    for (int i = 0; i < 2; ++i) {
      const Result<RunResult> result = executor->run(indexed_inputs());
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(*result->output("y"), Array::of<float>({4}, {1, 2, 3, 8}));
      look("a run");
    }
    RunOptions listening = indexed_inputs();
    int heard = 0;
    listening.on_output = [&](std::string_view, const Array&) { ++heard; };
    ASSERT_TRUE(executor->run(listening).ok());
    EXPECT_EQ(heard, 1);
    look("a run with somebody who listens");
    EXPECT_FALSE(executor->run(indexed_inputs(7)).ok());
    look("a run that ended with an error");
  }
  look("the end of a program");
  EXPECT_EQ(told, 4);
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), IsEmpty());
}

TEST_P(CudaContext, IsAsItWasForArraysAndOnThreadsThatOnlyEnd) {
  FakeDriver& driver = begin();
  {
    Result<std::shared_ptr<cuda::Context>> context = cuda::Context::open(FakeDriver::api().driver, 0);
    ASSERT_TRUE(context.ok());
    look("a context was opened");
    Result<Array> here = cuda::page_locked(*context, {DType::f32, {4}}), there = cuda::page_locked(*context, {DType::f32, {4}});
    ASSERT_TRUE(here.ok() && there.ok());
    look("arrays were made");
    RunOptions options = indexed_inputs();
    options.inputs.at("x") = *here;
    std::unique_ptr<Executor> executor = executor_for(plan_on_cuda(telling_program([] {}), Where::accelerator), setup());
    ASSERT_TRUE(executor && executor->run(options).ok());
    look("a run with one of them");
    options = {};
    here = Error{};
    look("its end");
    std::thread([&driver, array = *std::move(there), ends = std::move(executor)]() mutable {
      array = Array();
      ends.reset();
      EXPECT_THAT(driver.contexts(), IsEmpty()) << "a thread that never had one";
    }).join();
    there = Error{};
  }
  look("the end of the context");
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), IsEmpty());
}

TEST_P(CudaContext, IsAsItWasWhereverADriversCallFails) {
  for (const CUresult code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED}) {
    int errors = 0;
    for (std::int64_t n = 1;; ++n) {
      SCOPED_TRACE("call " + std::to_string(n) + " fails with " + std::to_string(code));
      FakeDriver& driver = begin();
      const Planned planned = plan_on_cuda(telling_program([] {}), Where::accelerator);
      driver.fail_call(n, code);
      {
        const Result<std::unique_ptr<Executor>> executor = Executor::create(planned.program, planned.costs, setup());
        look("a program was made ready");
        if (executor.ok()) {
          errors += (*executor)->run(indexed_inputs()).ok() ? 0 : 1;
          look("a run");
        } else {
          ++errors;
        }
      }
      look("the end of a program");
      EXPECT_EQ(driver.leaks(), "") << driver.failed();
      if (driver.failed().empty()) break;
      ASSERT_LT(n, 1000);
      if (HasFailure()) return;
    }
    EXPECT_GT(errors, 30);
  }
}

INSTANTIATE_TEST_SUITE_P(OfSomebodyElse, CudaContext, ::testing::Values(0, 1, 2));

}  // namespace
}  // namespace cleave::testing
