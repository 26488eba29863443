// Every model and many random programs through the CUDA back end on the fake driver, against the reference executor: on every kind of
// placement, with streams that run immediately, as late as possible, or in any allowed order.
#include <gmock/gmock.h>

#include <cstdlib>

#include "executor/cuda/back_end.h"
#include "tests/executor/cuda/cuda_plan.h"
#include "tests/executor/project_models.h"
#include "tests/executor/state_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

/// Runs `graph` on a fake GPU, twice where that gives the same, and compares with `expected`.
void check_on_fake(const std::shared_ptr<const Graph>& graph, const RunOptions& options, const Outcome& expected, Where where,
                   std::uint64_t variant, const std::function<void()>& before_run) {
  SCOPED_TRACE("variant " + std::to_string(variant) + ", placement " + std::to_string(static_cast<int>(where)));
  const Planned planned = plan_on_cuda(graph, where, variant);
  FakeDriver driver(static_cast<FakeDriver::Schedule>(variant % 3), variant);
  {
    ExecutorSetup executor_options{{}, cuda::back_end(), 0};
    cuda::CudaOptions cuda_options;
    cuda_options.streams.events = variant % 2 == 0 ? 4 : 64;
    cuda_options.upload_bytes = variant % 2 == 0 ? 64 : 4096;
    cuda_options.stream_mode = variant % 4 == 3;
    executor_options.back_end.open = driver.opener(cuda_options);
    executor_options.fuse = variant % 4 != 3;
    executor_options.channel_capacity = 1 + static_cast<int>(variant % 2);
    if (variant % 3 == 1) executor_options.part_bytes = 8;
    executor_options.watchdog_seconds = 200;  // the emulated kernels of a sanitized build, on a busy machine, are that slow
    executor_options.library_paths = kHostFunctions;
    const std::unique_ptr<Executor> executor = executor_for(planned, executor_options);
    ASSERT_TRUE(executor);
    for (int run = 0; run < equal_runs(*graph); ++run) {
      before_run();
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
    }
  }
  EXPECT_EQ(driver.leaks(), "");
  EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
}

void check_random(std::uint64_t seed, bool verify) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomProgram program(seed);
  program.options.verify = verify;
  std::uint64_t variant = seed * 5;
  for (const Where where : {Where::accelerator, Where::optimal, Where::random, Where::random}) {
    check_on_fake(program.graph, program.options, program.expected, where, variant++, [&] { program.log->lines.clear(); });
    EXPECT_EQ(program.log->lines, program.effects);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CudaModels, RandomProgramsEqualTheOracle) {
  for (std::uint64_t seed = 0; seed < seeds(30) && !HasFailure(); ++seed) check_random(seed, false);
}

TEST(CudaModels, VerifyModeAgreesWithTheReferences) {
  for (std::uint64_t seed = 0; seed < seeds(30) / 4 && !HasFailure(); ++seed) check_random(seed, true);
}

TEST(CudaModels, StatesStayFromRunToRun) {
  for (std::uint64_t seed = 0; seed < seeds(30) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StatefulProgram program(seed);
    for (const Where where : {Where::accelerator, Where::random}) {
      const Planned planned = plan_on_cuda(program.graph, where, seed);
      FakeDriver driver(static_cast<FakeDriver::Schedule>(seed % 3), seed);
      {
        ExecutorSetup setup{{}, cuda::back_end(), 0};
        cuda::CudaOptions options;
        options.upload_bytes = seed % 2 == 0 ? 64 : 4096;
        options.stream_mode = seed % 4 == 3;
        setup.back_end.open = driver.opener(options);
        setup.watchdog_seconds = 200;
        setup.library_paths = kHostFunctions;
        const std::unique_ptr<Executor> executor = executor_for(planned, setup);
        ASSERT_TRUE(executor);
        expect_fed_by_hand(program, *executor, 4);
      }
      EXPECT_EQ(driver.leaks(), "");
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    }
  }
}

TEST(CudaModels, TheModelsOfTheProjectEqualTheOracle) {
  const std::vector<ProjectModel> models = project_models();
  EXPECT_GE(models.size(), 5U);
  for (const ProjectModel& model : models) {
    SCOPED_TRACE(model.path);
    check_on_fake(model.graph, {}, model.expected, Where::accelerator, 1, [] {});
    check_on_fake(model.graph, {}, model.expected, Where::optimal, 2, [] {});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cleave::testing
