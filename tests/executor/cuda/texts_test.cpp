// Whole programs through the CUDA back end that execute the generated kernels themselves: the fake driver passes each launch to the kernel
// emulator. Results equal the reference executor's, an error in the data is reported as on the host, and no failing call hangs or leaks.
#include <gmock/gmock.h>

#include <cstdlib>

#include "executor/cuda/back_end.h"
#include "graph/trace/tracer.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/project_models.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

using Schedule = FakeDriver::Schedule;

class CudaTexts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }

  /// An executor of `planned` on a fake GPU, or the reason why it cannot be opened.
  Result<std::unique_ptr<Executor>> open(FakeDriver& driver, const Planned& planned) {
    driver.run_texts(emulator_);
    ExecutorSetup options{{}, cuda::back_end(), 0};
    cuda::CudaOptions cuda_options;
    cuda_options.streams.patience_seconds = 0.1;
    options.back_end.open = driver.opener(cuda_options);
    options.watchdog_seconds = 60;
    options.library_paths = kHostFunctions;
    return Executor::create(planned.program, planned.costs, options);
  }

  /// Registers the kernels of `planned`: compiling them together is faster than one by one.
  void prepare(const Planned& planned) {
    FakeDriver driver(Schedule::eager);
    const auto executor = open(driver, planned);
    ASSERT_TRUE(executor.ok()) << executor.error().message;
  }

  void check(
      const Planned& planned, const RunOptions& options, const Outcome& expected, std::uint64_t variant,
      const std::function<void()>& before_run = [] {}) {
    FakeDriver driver(static_cast<Schedule>(variant % 3), variant);
    {
      auto executor = open(driver, planned);
      ASSERT_TRUE(executor.ok()) << executor.error().message;
      const Status compiled = emulator_.compile();
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      before_run();
      expect_equal(run_with(options, [&](const RunOptions& o) { return (*executor)->run(o); }), expected, false);
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
  }

  KernelEmulator emulator_;
};

TEST_F(CudaTexts, TheModelsOfTheProjectEqualTheOracle) {
  std::vector<ProjectModel> models = project_models();
  // One convolution of all its images takes the emulator longer than a run may stand still.
  std::erase_if(models, [](const ProjectModel& model) { return model.path.ends_with("/digits_cnn.yaml"); });
  EXPECT_GE(models.size(), 5U);
  std::vector<Planned> plans;
  for (const ProjectModel& model : models) {
    for (const Where where : {Where::accelerator, Where::optimal}) {
      plans.push_back(plan_on_cuda(model.graph, where));
      prepare(plans.back());
    }
  }
  for (std::size_t i = 0; i < plans.size() && !HasFailure(); ++i) {
    SCOPED_TRACE(models[i / 2].path + (i % 2 == 0 ? " on the accelerator" : " on both"));
    check(plans[i], {}, models[i / 2].expected, i);
  }
  EXPECT_GT(emulator_.launches(), 100);
}

TEST_F(CudaTexts, RandomProgramsEqualTheOracle) {
  struct Case {
    std::shared_ptr<const Graph> graph;
    std::shared_ptr<EffectLog> log = std::make_shared<EffectLog>();
    Planned planned;
  };
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < seeds(200) && !HasFailure(); ++seed) {
    Case& each = cases.emplace_back();
    RandomGraphOptions options;
    options.log = each.log;
    each.graph = std::make_shared<const Graph>(random_graph(seed, options));
    each.planned = plan_on_cuda(each.graph, seed % 4 == 3 ? Where::random : Where::accelerator, seed);
    prepare(each.planned);
  }
  for (std::uint64_t seed = 0; seed < cases.size() && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case& each = cases[seed];
    RunOptions options;
    options.inputs = random_inputs(*each.graph, seed);
    const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*each.graph, o); });
    const std::vector<std::string> effects = each.log->lines;
    check(each.planned, options, expected, seed, [&] { each.log->lines.clear(); });
    EXPECT_EQ(each.log->lines, effects);
  }
  EXPECT_GT(emulator_.launches(), static_cast<std::int64_t>(2 * seeds(200)));
}

// --- failures: softmax(take(x, index)), twice, with its take in line 5 -----------------------------------------------

std::shared_ptr<const Graph> small_program() {
  const auto line = [](int number) { return SourceLocation{std::make_shared<const std::string>("model.yaml"), number, 3, nullptr}; };
  Tracer tracer("program");
  const auto call = [&](const char* op, std::vector<Operand> inputs, int at, Attributes attributes = {}) {
    return tracer.call(*find_op(op), inputs, std::move(attributes), line(at));
  };
  const Operand x = tracer.input("x", {DType::f32, {4, 40}}, {}, line(1)), index = tracer.input("index", {DType::i32, {3}}, {}, line(2));
  const Operand taken = call("take", {x, index}, 5, {{"axis", std::int64_t{0}}});
  const Operand soft = call("softmax", {taken}, 6);
  tracer.output("y", call("add", {soft, soft}, 7), line(8));
  return std::make_shared<const Graph>(tracer.finish());
}

RunOptions small_inputs(std::int32_t index) {
  Array x(TensorType{DType::f32, {4, 40}});
  for (int i = 0; i < 160; ++i) x.mutable_data<float>()[i] = static_cast<float>(i * 7 % 11);
  RunOptions options;
  options.inputs = {{"x", x}, {"index", Array::of<std::int32_t>({3}, {3, index, 0})}};
  return options;
}

TEST_F(CudaTexts, TellWhereTheDataAreWrong) {
  const auto graph = small_program();
  const Planned planned = plan_on_cuda(graph, Where::accelerator);
  prepare(planned);
  for (std::uint64_t variant = 0; variant < 6; ++variant) {
    for (const std::int32_t index : {2, 4, -5}) {
      SCOPED_TRACE(index);
      const Outcome expected = run_with(small_inputs(index), [&](const RunOptions& o) { return run_reference(*graph, o); });
      EXPECT_EQ(expected.result.ok(), index == 2);
      check(planned, small_inputs(index), expected, variant);
    }
  }
}

TEST_F(CudaTexts, MakeOneErrorOfEachFailingCall) {
  const Planned planned = plan_on_cuda(small_program(), Where::accelerator);
  prepare(planned);
  for (std::int64_t n = 1;; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    FakeDriver driver(Schedule::eager);
    driver.fail_call(n, n % 2 == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED);
    {
      const auto executor = open(driver, planned);
      const Result<RunResult> result = executor ? (*executor)->run(small_inputs(2)) : executor.error();
      if (driver.failed().empty()) break;
      EXPECT_TRUE(driver.failed_without_harm() || !result.ok()) << driver.failed();
    }
    EXPECT_EQ(driver.leaks(), "") << driver.failed();
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty()) << driver.failed();
    ASSERT_LT(n, 2000);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cleave::testing
