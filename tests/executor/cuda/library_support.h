// Support for the tests of optional libraries: programs of one operation on a fake GPU with or without fakes of the libraries.
#pragma once

#include <gmock/gmock.h>

#include "executor/cuda/back_end.h"
#include "graph/trace/tracer.h"
#include "tests/executor/run_support.h"
#include "tests/support/fake_driver.h"
#include "tests/support/kernel_emulator/kernel_emulator.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {

struct SampleProgram {
  std::shared_ptr<const Graph> graph;
  RunOptions options;
  Outcome expected;
};

/// A program of the sample's op with inputs as operands, called in line 2.
inline SampleProgram program_of(const OpSample& sample) {
  SampleProgram program;
  Tracer tracer("one");
  std::vector<Operand> operands;
  for (const Array& input : sample.inputs) {
    const std::string name = "x" + std::to_string(operands.size());
    operands.push_back(tracer.input(name, input.type(), {}, line(1)));
    program.options.inputs.emplace(name, input);
  }
  const std::vector<Operand> results = tracer.apply(*sample.op, operands, sample.attributes, line(2));
  for (std::size_t i = 0; i < results.size(); ++i) tracer.output("y" + std::to_string(i), results[i], line(3));
  program.graph = std::make_shared<const Graph>(tracer.finish());
  program.expected = run_with(program.options, [&](const RunOptions& o) { return run_reference(*program.graph, o); });
  return program;
}

class CudaLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = KernelEmulator::unavailable(); !why.empty()) GTEST_SKIP() << why;
  }

  /// Places every operation that has a kernel on the accelerator.
  static Planned plan(const SampleProgram& program, const std::shared_ptr<const cuda::Libraries>& libraries) {
    CostModel costs = simulated_costs();
    costs.supported = cuda::back_end(libraries).supports;
    return plan_with(costs, program.graph, Where::accelerator);
  }

  ExecutorSetup setup(FakeDriver& driver, const std::shared_ptr<const cuda::Libraries>& libraries, bool stream_mode = false) {
    driver.run_texts(emulator_);
    cuda::CudaOptions cuda_options;
    cuda_options.streams.patience_seconds = 0.1;
    cuda_options.stream_mode = stream_mode;
    ExecutorSetup options{{}, cuda::back_end(libraries), 0};
    options.back_end.open = driver.opener(cuda_options, libraries);
    options.watchdog_seconds = 60;
    return options;
  }

  /// Registers the kernels of `program`: compiling them together is faster than one by one.
  void prepare(const SampleProgram& program) {
    FakeDriver driver(FakeDriver::Schedule::eager);
    const auto executor = executor_for(plan(program, FakeDriver::libraries()), setup(driver, FakeDriver::libraries()));
    ASSERT_TRUE(executor);
  }

  /// Checks that two runs on the fake GPU agree with the reference implementation.
  void check(const SampleProgram& program, std::uint64_t variant, bool with_libraries = true) {
    const auto libraries = with_libraries ? FakeDriver::libraries() : FakeDriver::no_libraries();
    const Planned planned = plan(program, libraries);
    FakeDriver driver(static_cast<FakeDriver::Schedule>(variant % 3), variant);
    {
      const std::unique_ptr<Executor> executor = executor_for(planned, setup(driver, libraries, variant % 2 == 0));
      ASSERT_TRUE(executor);
      for (int run = 0; run < 2; ++run)
        expect_equal(run_with(program.options, [&](const RunOptions& o) { return executor->run(o); }), program.expected, false);
    }
    EXPECT_EQ(driver.leaks(), "");
    EXPECT_THAT(driver.misuses(), ::testing::IsEmpty());
    counts_ = driver.counts();
    if (driver.handed_over() > 0) counts_["cuLaunchKernel"] -= driver.handed_over();
  }

  /// Lets each call whose name begins with `prefix` fail once: there must be one error that names the call, and no leak.
  void check_failures(const SampleProgram& program, const std::string& prefix, const std::string& code) {
    const auto libraries = FakeDriver::libraries();
    const Planned planned = plan(program, libraries);
    std::set<std::string> failed;
    for (std::int64_t n = 1; !HasFailure(); ++n) {
      FakeDriver driver(FakeDriver::Schedule::eager);
      driver.fail_call(n, CUDA_ERROR_OUT_OF_MEMORY);
      {
        Result<std::unique_ptr<Executor>> executor = Executor::create(planned.program, planned.costs, setup(driver, libraries));
        Result<RunResult> result = executor ? (*executor)->run(program.options) : Result<RunResult>(executor.error());
        if (driver.failed().empty()) break;
        if (!driver.failed().starts_with(prefix)) continue;
        failed.insert(driver.failed());
        ASSERT_FALSE(result.ok()) << driver.failed();
        EXPECT_EQ(result.error().kind, ErrorKind::machine);
        EXPECT_THAT(result.error().message, ::testing::HasSubstr(driver.failed() + " failed: " + code));
      }
      EXPECT_EQ(driver.leaks(), "") << driver.failed();
      EXPECT_THAT(driver.misuses(), ::testing::IsEmpty()) << driver.failed();
    }
    EXPECT_GT(failed.size(), 2U);
  }

  KernelEmulator emulator_;
  std::map<std::string, std::int64_t> counts_;  ///< calls in the last check; launches without those for page-locked values
};

}  // namespace cleave::testing
