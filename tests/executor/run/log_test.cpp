// Logged numbers in runs: steps and their rows on every device, and where a NaN came from.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "executor/api/executable.h"
#include "executor/check/reference.h"
#include "models/model.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

Graph model(const std::string& text) {
  Graph graph = parse_model(text, "m.yaml", {});
  for (const Diagnostic& each : graph.diagnostics) EXPECT_NE(each.severity, Severity::error) << each.message;
  return graph;
}

std::string text_of(const LoggedStep& step) {
  std::string text = std::to_string(step.step) + ":";
  for (const auto& [label, value] : step.values) text += " " + std::string(label) + "=" + to_string(value);
  return text;
}

using Rows = std::vector<std::string>;

RunOptions into(Rows& rows) {
  RunOptions options;
  options.on_log = [&rows](const LoggedStep& step) { rows.push_back(text_of(step)); };
  return options;
}

/// The rows of a run on every device, which must be equal.
Rows rows_of(const Graph& graph) {
  Rows expected;
  const Result<RunResult> reference = run_reference(graph, into(expected));
  EXPECT_TRUE(reference) << reference.error().message;
  for (const char* device : {"none", "simulated"})
    for (const Policy policy : {Policy::optimal, Policy::accelerator}) {
      const Result<Executable> program = compile(graph, {.device = device, .placement = policy});
      EXPECT_TRUE(program) << program.error().message;
      Rows rows;
      const Result<RunResult> result = program->run(into(rows));
      EXPECT_TRUE(result) << result.error().message;
      EXPECT_EQ(rows, expected) << device;
      EXPECT_EQ(result->steps, reference->steps);
    }
  return expected;
}

TEST(Log, HasARowForEachTripOfALoop) {
  const Graph graph = model(R"(cleave: 1
program:
  - log("start", 7)
  - x: 0.0
  - for: i in 3
    do:
      - x: x + 0.5
      - log("x", x)
      - log("i", i)
  - log("end", x)
outputs: [x]
)");
  EXPECT_EQ(rows_of(graph), (Rows{"0: start=7 x=0.5 i=0", "1: x=1.0 i=1", "2: x=1.5 i=2", "3: end=1.5"}));
}

TEST(Log, CountsTheTripsOfTheOutermostLoopThatLogs) {
  const Graph inner = model(R"(cleave: 1
program:
  - n: 0
  - for: epoch in 2
    do:
      - for: batch in 2
        do:
          - n: n + 1
          - log("n", n)
outputs: [n]
)");
  EXPECT_EQ(rows_of(inner), (Rows{"0: n=1", "1: n=2", "2: n=3", "3: n=4"}));
  const Graph both = model(R"(cleave: 1
program:
  - n: 0
  - for: epoch in 2
    do:
      - for: batch in 2
        do:
          - n: n + 1
          - log("n", n)
      - if: epoch % 2 == 1
        then:
          - log("epoch", epoch)
outputs: [n]
)");
  EXPECT_EQ(rows_of(both), (Rows{"0: n=2", "1: n=4 epoch=1"}));
}

TEST(Log, CountsTheSmallerBatchOfAPassAsAStep) {
  const Graph graph = model(R"(cleave: 1
inputs: {data: {type: "f32[5]", value: [1, 2, 3, 4, 5]}}
program:
  - log("x", sum(data))
  - for: pass in 2
    do:
      - for: x in batches(data, size=2, remainder=smaller)
        do:
          - log("x", sum(x))
outputs: []
)");
  EXPECT_EQ(rows_of(graph), (Rows{"0: x=15.0", "1: x=3.0", "2: x=7.0", "3: x=5.0", "4: x=3.0", "5: x=7.0", "6: x=5.0"}));
}

TEST(Log, LeavesOutStepsThatLogNothing) {
  const Graph graph = model(R"(cleave: 1
program:
  - n: 0
  - while: n < 6
    do:
      - if: n % 3 == 0
        then:
          - log("n", n)
      - n: n + 1
outputs: [n]
)");
  EXPECT_EQ(rows_of(graph), (Rows{"0: n=0", "3: n=3"}));
}

TEST(Log, TakesEveryNumericType) {
  std::string text = "cleave: 1\ninputs: {x: \"f32[]\"}\nprogram:\n";
  for (const char* type : {"f64", "f16", "bf16", "i32", "i64", "u8"})
    text += "  - log(\"" + std::string(type) + "\", astype(x, " + type + "))\n";
  Graph graph = model(text);
  const Result<Executable> program = compile(graph, {.device = "none"});
  ASSERT_TRUE(program);
  Rows rows;
  RunOptions options = into(rows);
  options.inputs = {{"x", Array::scalar(2.5F)}};
  ASSERT_TRUE(program->run(options));
  EXPECT_EQ(rows, (Rows{"0: f64=2.5 f16=2.5 bf16=2.5 i32=2 i64=2 u8=2"}));
}

TEST(Log, NeverMakesTheAcceleratorWait) {
  const Graph graph = model(R"(cleave: 1
inputs: {x: "f32[256, 256]"}
program:
  - for: i in 50
    do:
      - x: tanh(matmul(x, x))
      - log("mean", mean(x))
outputs: [x]
)");
  const Result<Executable> program = compile(graph, {.device = "simulated", .placement = Policy::accelerator});
  ASSERT_TRUE(program) << program.error().message;
  for (const Diagnostic& each : program->diagnostics()) EXPECT_NE(each.kind, DiagnosticKind::round_trip) << each.message;
  EXPECT_TRUE(program->plan().round_trips.empty());
}

TEST(Log, RejectsWhatIsNoNumber) {
  const Graph graph = parse_model(R"(cleave: 1
inputs: {x: "f32[3]", p: "bool[]"}
program:
  - log("x", x)
  - log("p", p)
  - log("only a label")
  - y: log(x)
  - z: log(x, x)
outputs: [y]
)",
                                  "m.yaml", {});
  std::vector<std::pair<int, std::string>> errors;
  for (const Diagnostic& each : graph.diagnostics)
    if (each.severity == Severity::error) errors.emplace_back(each.location.line, each.message);
  ASSERT_EQ(errors.size(), 4U);
  EXPECT_EQ(errors[0], std::pair(4, std::string("`log` takes one number, not f32[3]; log its `mean`")));
  EXPECT_EQ(errors[1], std::pair(5, std::string("`log` takes a number, not a bool; `astype` converts it")));
  EXPECT_EQ(errors[2], std::pair(6, std::string("`log(label, x)` lacks `x`")));
  EXPECT_EQ(errors[3].first, 8);
}

TEST(Log, AnErrorOfTheListenerEndsTheRun) {
  const Graph graph = model("cleave: 1\nprogram:\n  - for: i in 1000\n    do:\n      - log(\"i\", i)\n");
  const Result<Executable> program = compile(graph, {.device = "none"});
  RunOptions options;
  int calls = 0;
  options.on_log = [&](const LoggedStep& step) {
    ++calls;
    if (step.step == 3) throw std::runtime_error("no paper");
  };
  const Result<RunResult> result = program->run(options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("`on_log` threw: no paper"), std::string::npos) << result.error().message;
  EXPECT_EQ(calls, 4);
}

// --- stop_on_nan -----------------------------------------------------------------------------------------------------------------------

constexpr const char* kNan = R"(cleave: 1
parameters: {w: {type: "f32[4]", value: 2}}
program:
  - for: i in 100
    do:
      - guarded: where(w > 1, sqrt(w - 1), 0)
      - w: w - 0.5
      - root: sqrt(w)
      - loss: mean(root * 3) + 0 * mean(guarded)
      - print("loss", loss)
      - log("loss", loss)
resident: [w]
)";

TEST(StopOnNan, NamesTheLineOfTheOperationThatMadeTheFirstOne) {
  const Graph graph = model(kNan);
  for (const char* device : {"none", "simulated"}) {
    SCOPED_TRACE(device);
    const Result<Executable> program = compile(graph, {.device = device, .placement = Policy::accelerator});
    ASSERT_TRUE(program) << program.error().message;
    Rows rows;
    RunOptions options = into(rows);
    int printed = 0;
    options.print = [&](std::string_view) { ++printed; };
    options.stop_on_nan = true;
    const Result<RunResult> result = program->run(options);
    ASSERT_FALSE(result);
    const std::string& message = result.error().message;
    EXPECT_NE(message.find("`loss` is NaN in step"), std::string::npos) << message;
    EXPECT_EQ(result.error().location.line, 8) << message;  // not line 6, whose NaN `where` leaves out
    EXPECT_NE(message.find("the result of `sqrt`"), std::string::npos) << message;
    EXPECT_NE(message.find("for.i/"), std::string::npos) << message;
    EXPECT_EQ(static_cast<std::size_t>(printed), rows.size());  // once for each step, not again in the second run
    EXPECT_FALSE(program->state("w"));                          // a run that fails changes no state
    EXPECT_TRUE(program->run(RunOptions{}));                    // later runs are not affected
  }
}

TEST(StopOnNan, NamesTheInputThatHoldsOne) {
  const Graph graph = model("cleave: 1\ninputs: {x: \"f32[2]\"}\nprogram:\n  - y: sum(x * 2)\n  - log(\"y\", y)\n");
  const Result<Executable> program = compile(graph, {.device = "none"});
  RunOptions options;
  options.inputs = {{"x", Array::of<float>({2}, {1, std::numeric_limits<float>::quiet_NaN()})}};
  EXPECT_TRUE(program->run(options));
  options.stop_on_nan = true;
  const Result<RunResult> result = program->run(options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("`x` holds a NaN from the start"), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().location.line, 2);
}

}  // namespace
}  // namespace cleave::testing
