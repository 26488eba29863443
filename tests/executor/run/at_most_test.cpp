// `at_most` of loops: more trips are an Error of the run at the loop's line, whichever device runs it.
#include <gtest/gtest.h>

#include "executor/check/reference.h"
#include "executor/runtime.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/sequential_program.h"

namespace cleave::testing {
namespace {

const std::string kHead = "inputs: {x: \"f32[]\", n: \"i32[]\"}\nprogram:\n";
const std::string kWhile = kHead + "  - while: x > 1\n    at_most: 3\n    do:\n      - x: x / 2\noutputs: [x]\n";
const std::string kFor = kHead + "  - for: i in n\n    at_most: 3\n    do:\n      - x: x / 2\noutputs: [x]\n";
const std::string kUntil = kHead + "  - for: i in n\n    at_most: 3\n    until: x < 2\n    do:\n      - x: x / 2\noutputs: [x]\n";

std::string outcome(const Result<std::vector<Array>>& outputs) {
  if (outputs) return std::to_string(*outputs->front().data<float>());
  const Error& error = outputs.error();
  return std::to_string(error.location.line) + ": " + error.message;
}

/// The result by each executor and plan, which must be one and the same.
std::string by_all(const std::string& text, float x, std::int32_t n) {
  const auto graph = std::make_shared<const Graph>(parse_model(text, "at_most.yaml"));
  EXPECT_TRUE(graph->ok());
  RunOptions options;
  options.inputs = {{"x", Array::scalar(x)}, {"n", Array::scalar(n)}};
  const auto outputs = [](const Result<RunResult>& run) -> Result<std::vector<Array>> {
    if (!run) return run.error();
    return std::vector<Array>{run->outputs.front().second};
  };
  const std::string first = outcome(outputs(run_reference(*graph, options)));
  for (const Where where : {Where::host, Where::accelerator, Where::optimal}) {
    const Planned planned = plan_with(simulated_costs(), graph, where);
    const Result<SequentialRun> sequential = run_sequentially(*planned.program, options);
    EXPECT_EQ(outcome(sequential ? Result<std::vector<Array>>(sequential->outputs) : Result<std::vector<Array>>(sequential.error())),
              first);
    const std::unique_ptr<Executor> executor = executor_for(planned);
    EXPECT_EQ(executor ? outcome(outputs(executor->run(options))) : "", first);
  }
  return first;
}

TEST(AtMost, BoundsAWhile) {
  EXPECT_EQ(by_all(kWhile, 8, 0), "1.000000");
  EXPECT_EQ(by_all(kWhile, 9, 0), "3: `while`: the loop makes more than 3 trips, the bound given as `at_most`");
}

TEST(AtMost, BoundsARuntimeCount) {
  EXPECT_EQ(by_all(kFor, 8, 3), "1.000000");
  EXPECT_EQ(by_all(kFor, 8, -1), "8.000000");
  EXPECT_EQ(by_all(kFor, 8, 4), "3: `for`: the loop makes more than 3 trips, the bound given as `at_most`");
}

TEST(AtMost, CountsTheTripsMadeWithUntil) {
  EXPECT_EQ(by_all(kUntil, 8, 100), "1.000000");
  EXPECT_EQ(by_all(kUntil, 16, 3), "2.000000");
  EXPECT_EQ(by_all(kUntil, 16, 100), "3: `for`: the loop makes more than 3 trips, the bound given as `at_most`");
}

TEST(AtMost, OfAKnownCountIsChecked) {
  const Graph graph = parse_model(kHead + "  - for: i in 4\n    at_most: 3\n    do:\n      - x: x / 2\noutputs: [x]\n", "at_most.yaml");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.diagnostics.begin()->message, "the loop has 4 trips, more than its `at_most` of 3");
}

}  // namespace
}  // namespace cleave::testing
