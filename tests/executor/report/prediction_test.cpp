// The limit `prediction_error`: runs on both sides of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/api/executable.h"
#include "executor/report/prediction_check.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

/// Halves `x` until it is at most 1; ten times, by the plan.
Graph halving(double allowed) {
  TraceOptions options;
  options.limits.prediction_error = allowed;
  return trace(
      "halving", {{"x", "f32[]"}},
      [](Tensor x) { return while_loop([](Tensor y) { return y > 1; }, x, [](Tensor y) { return y / 2; }, {.expect = 10}); }, options);
}

RunResult run(const Executable& program, float x) {
  Result<RunResult> result = program.run({{"x", Array::scalar(x)}});
  EXPECT_TRUE(result.ok());
  return *std::move(result);
}

TEST(PredictionLimit, HoldsOnEitherSide) {
  const Result<Executable> program = compile(halving(0.2), {.device = "simulated"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(run(*program, 1024).diagnostics.empty()) << "ten trips, as predicted";
  for (const float x : {1e30F, 2.F}) {  // a hundred iterations, and one
    const RunResult far = run(*program, x);
    ASSERT_EQ(far.diagnostics.size(), 1U);
    EXPECT_EQ(far.outputs.size(), 1U) << "results are there";
    EXPECT_TRUE(far.timeline.events.empty()) << "nobody asked for it";
    const Diagnostic& said = *far.diagnostics.begin();
    EXPECT_EQ(said.kind, DiagnosticKind::limit);
    EXPECT_EQ(said.severity, Severity::error);
    EXPECT_THAT(said.location.file_name(), HasSubstr("prediction_test.cpp"));
    EXPECT_THAT(said.message, HasSubstr(x > 1e3F ? " % more than the " : " % less than the "));
    EXPECT_THAT(said.message, HasSubstr(" predicted; the limit `prediction_error: 20%` is exceeded"));
    ASSERT_GE(said.notes.size(), 3U);
    EXPECT_THAT(said.notes[0].message, HasSubstr(" on the host took "));
    EXPECT_TRUE(said.notes[0].location.known());
    EXPECT_THAT(said.notes.back().message, HasSubstr("predicted by machine `simulated`, assumed"));
  }
}

TEST(PredictionLimit, TheFirstRunOnARealClockIsNotCompared) {
  const Result<Executable> program = compile(halving(1e-6), {.device = "none"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(run(*program, 1e30F).diagnostics.empty());
  EXPECT_EQ(run(*program, 1e30F).diagnostics.size(), 1U) << "no prediction is that good";
}

TEST(PredictionLimit, IsAPartOfThePrediction) {
  const Result<Executable> program = compile(halving(0.2), {.device = "simulated"});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Plan& plan = program->plan();
  const double predicted = plan.predicted_seconds;
  for (const double inside : {0.81, 1.0, 1.19}) EXPECT_TRUE(runtime::check_prediction(plan, inside * predicted, {}).empty()) << inside;
  for (const double outside : {0.79, 1.21, 100.0})
    EXPECT_EQ(runtime::check_prediction(plan, outside * predicted, {}, 5).size(), 1U) << outside;
  EXPECT_THAT(runtime::check_prediction(plan, 1.5 * predicted, {}, 5).begin()->message, HasSubstr("the median of 5 runs is "));
}

TEST(PredictionLimit, ABadOneIsAMistake) {
  for (const double bad : {0.0, -0.2, 1e300}) {
    const Graph graph = halving(bad);
    ASSERT_FALSE(graph.ok()) << bad;
    EXPECT_THAT(graph.diagnostics.begin()->message, HasSubstr("above 0, as in 0.2 for 20 %"));
  }
}

}  // namespace
}  // namespace cleave::testing
