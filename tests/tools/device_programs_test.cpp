// The programs of the device benchmark compute the reference executor's results, so that the benchmark times the right work.
#include "tools/bench/device_programs.h"

#include <gtest/gtest.h>

#include "executor/api/executable.h"
#include "executor/check/compare.h"
#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "tools/bench/device_bounds.h"

namespace cleave::bench {

using namespace runtime;
namespace {

TEST(DevicePrograms, EqualTheOracle) {
  int bounded = 0;
  std::size_t families = 0;
  for (const DeviceProgram& program : device_programs(true)) {
    SCOPED_TRACE(program.name);
    ASSERT_TRUE(program.graph.ok()) << to_text(program.graph.diagnostics);
    CompileOptions options;
    options.device = "simulated";
    options.placement = program.placement;
    const Result<Executable> executable = compile(program.graph, options);
    ASSERT_TRUE(executable.ok()) << executable.error().message;
    RunOptions run;
    run.inputs = program.inputs;
    const Result<RunResult> expected = run_reference(program.graph, run), result = executable->run(run);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    ASSERT_TRUE(result.ok()) << result.error().message;
    ASSERT_EQ(result->outputs.size(), expected->outputs.size());
    for (std::size_t i = 0; i < expected->outputs.size(); ++i)
      EXPECT_EQ(difference(result->outputs[i].second, expected->outputs[i].second, 1000).value_or(""), "");
    const DeviceBounds bounds = find_bounds(executable->plan());
    bounded += bounds.seconds() > 0;
    DeviceBounds::Family sum;
    for (const auto& [of, family] : bounds.families) {
      EXPECT_LE(family.seconds(), std::max(bounds.compute_seconds, bounds.memory_seconds) * (1 + 1e-9)) << to_string(of);
      sum.flops += family.flops;
      sum.memory_bytes += family.memory_bytes;
    }
    EXPECT_NEAR(sum.flops, bounds.flops, 1e-9 * bounds.flops);
    EXPECT_NEAR(sum.memory_bytes, bounds.memory_bytes, 1e-9 * bounds.memory_bytes);
    families += bounds.families.size();
    EXPECT_LE(bounds.seconds(), result->simulated_seconds) << "nothing is faster than its bounds";
    EXPECT_EQ(bounds.link_bytes_to_host, static_cast<double>(result->accelerator_to_host.bytes));
    EXPECT_EQ(bounds.link_bytes_to_accelerator, static_cast<double>(result->host_to_accelerator.bytes));
  }
  EXPECT_GT(bounded, 3);
  EXPECT_GT(families, 5U);
}

}  // namespace
}  // namespace cleave::bench
