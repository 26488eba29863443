// Warnings about unused values, from YAML and from C++: each at its line, one per cause, and none for a correct program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/ops/ops.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "7: `y` is never read", of each warning.
std::vector<std::string> said(const Diagnostics& diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.kind == DiagnosticKind::unused) lines.push_back(std::to_string(diagnostic.location.line) + ": " + diagnostic.message);
  return lines;
}

std::vector<std::string> unused(const std::string& text) {
  const Graph graph = parse_model("cleave: 1\n" + text, "m.yaml");
  EXPECT_TRUE(graph.ok()) << text;
  return said(graph.diagnostics);
}

TEST(Unused, InputsParametersAndStatements) {
  EXPECT_THAT(unused("inputs: {x: \"f32[4]\"}\nparameters:\n  w: {type: \"f32[4]\", value: 1}\nprogram:\n  - y: x * 2\n  - z: x + 1\n"
                     "  - sqrt(x)\noutputs: [y]\n"),
              ElementsAre("4: the parameter `w` is never read", "7: `z` is never read", "8: the result of `sqrt` is never read"));
}

TEST(Unused, ACauseIsSaidOnce) {
  EXPECT_THAT(
      unused("inputs: {x: \"f32[4]\", u: \"f32[4]\"}\nprogram:\n  - a: u * 2\n  - b: a + 1\n  - c: a * b\n  - y: x * 2\noutputs: [y]\n"),
      ElementsAre("6: `c` is never read"));
  EXPECT_THAT(
      unused("inputs: {x: \"f32[4]\"}\nprogram:\n  - v: x * 1\n  - for: i in 3\n    do:\n      - v: v * 0.5\n  - y: x * 2\noutputs: [y]\n"),
      ElementsAre("7: `v` is never read"));
  EXPECT_THAT(
      unused("inputs: {x: \"f32[]\"}\nprogram:\n  - if: x > 0\n    then:\n      - u: x * 2\n    else:\n      - u: x * 3\n  - y: x * 2\n"
             "outputs: [y]\n")
          .size(),
      1u);
  EXPECT_THAT(
      unused("inputs: {x: \"f32[]\"}\nprogram:\n  - u: x\n  - while: u < 3\n    do:\n      - u: u * 2\n  - y: x * 2\noutputs: [y]\n"),
      ElementsAre("7: `u` is never read"));
  EXPECT_THAT(unused("inputs: {x: \"f32[4]\", y: \"f32[4]\"}\nprogram:\n  - z: x + y\n  - for: i in 10\n    do:\n      - z: z * 2\n"),
              ElementsAre("4: nothing of this program is used: it gives no output and has no effect"));
}

TEST(Unused, WhatIsOverwrittenBeforeItIsRead) {
  const std::string loop = "    do:\n      - y: x + 1\noutputs: [y]\n",
                    head = "inputs: {x: \"f32[4]\", n: \"i32[]\"}\nprogram:\n  - print(\"n\", n)\n  - y: x * 2\n";
  EXPECT_THAT(unused(head + "  - for: i in 3\n" + loop), ElementsAre("5: `y` is never read"));
  EXPECT_THAT(unused(head + "  - for: i in n\n" + loop), IsEmpty()) << "it may have no trip";
  EXPECT_THAT(unused(head + "  - y: x * 3\noutputs: [y]\n"), ElementsAre("5: `y` is never read"));
}

TEST(Unused, IsSilentWhereSomethingElseIsMeant) {
  EXPECT_THAT(unused("inputs: {x: \"f32[4]\"}\nprogram:\n  - \"v, p\": top_k(x, 2)\noutputs: [v]\n"), IsEmpty())
      << "one of several results";
  EXPECT_THAT(unused("inputs: {x: \"f32[4]\"}\nprogram:\n  - for: i in range(2, 8, 3)\n    do:\n      - x: x * 2\noutputs: [x]\n"),
              IsEmpty())
      << "a counter";
  EXPECT_THAT(
      unused("inputs: {x: \"f32[4]\"}\nfunctions:\n  f:\n    takes: [v]\n    do:\n      - a: v * 2\n      - b: v * 3\n    returns: [a, b]\n"
             "program:\n  - \"y, z\": f(x)\n  - \"u, w\": f(y)\noutputs: [z, u]\n"),
      IsEmpty())
      << "another call reads it";
  EXPECT_THAT(unused("inputs: {x: \"f32[4]\"}\nprogram:\n  - e: x * 2\n  - print(\"e\", e)\n  - for: i in 3\n    do:\n      - e: x * 3\n"
                     "      - x: x + e\noutputs: [x]\n"),
              IsEmpty())
      << "a name for each trip";
}

TEST(Unused, GoesByTheFlags) {
  const Graph graph = parse_model(
      "cleave: 1\ninputs: {x: \"f32[4]\"}\nprogram:\n  - y: x * 2\n  - z: x + 1\n  - u: x + 2\n    allow: {unused: for later}\noutputs: "
      "[y]\n",
      "m.yaml");
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  const auto severities = [&](const char* flag) {
    options.diagnostics = {};
    EXPECT_TRUE(options.diagnostics.parse(flag));
    std::string text;
    for (const Diagnostic& diagnostic : plan(graph, options).diagnostics) text += std::string(to_string(diagnostic.severity)) + " ";
    return text;
  };
  EXPECT_EQ(severities("Wall"), "warning allowed ");
  EXPECT_EQ(severities("Wno-unused"), "");
  EXPECT_EQ(severities("w"), "");
  EXPECT_EQ(severities("Werror=unused"), "error allowed ");
}

TEST(Unused, InTraces) {
  const Graph graph = trace("f", {{"x", "f32[4]"}, {"u", "f32[4]"}}, [](Tensor x, Tensor) {
    const Tensor dead = exp(x);
    Tensor y = x;
    for (int i = 0; i < 3; ++i) y = tanh(y) + 1;
    return y;
  });
  ASSERT_TRUE(graph.ok());
  const std::vector<std::string> lines = said(graph.diagnostics);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("the input `u` is never read"));
  EXPECT_THAT(lines[1], ::testing::HasSubstr("the result of `exp` is never read"));
}

TEST(Unused, ATypeThatIsAskedForIsAUse) {
  const Graph graph = trace("f", {{"x", "f32[4]"}, {"like", "f32[8]"}}, [](Tensor x, Tensor like) {
    const Tensor turned = exp(like);
    return zeros(Shape{turned.extent(0)}) + sum(x);
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(said(graph.diagnostics), IsEmpty());
}

TEST(Unused, NothingIsSaidOfTheZooAndTheExamples) {
  std::size_t looked_at = 0;
  for (const char* folder : {"/models", "/docs/examples", "/tests/golden/cases", "/tests/golden/causes", "/tests/golden/sarif"}) {
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() + folder)) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() != ".yaml" || name == "unused" || name == "dead_initial") continue;
      ++looked_at;
      EXPECT_THAT(said(read_model(entry.path().string()).diagnostics), IsEmpty()) << name;
    }
  }
  EXPECT_GE(looked_at, 60u);
}

TEST(OwnNames, WinOverOperations) {
  const std::string text = R"(cleave: 1
inputs: {x: "f32[4]"}
functions:
  split:
    takes: [v, by]
    do:
      - half: v * by
    returns: half
host_functions:
  sum: {library: none.so, takes: ["f32[4]"], returns: "f32[4]"}
program:
  - y: split(x, 0.5)
  - z: sum(y)
outputs: [y, z]
)";
  const Graph graph = parse_model(text, "m.yaml");
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  EXPECT_EQ(to_string(graph.values[graph.outputs[1].value].type), "f32[4]");
  std::vector<std::string> remarks;
  for (const Diagnostic& diagnostic : graph.diagnostics) {
    EXPECT_EQ(diagnostic.severity, Severity::remark);
    remarks.push_back(std::to_string(diagnostic.location.line) + ": " + diagnostic.message);
  }
  EXPECT_THAT(remarks, ElementsAre("4: `split` is the name of an operation, too; here it means this function",
                                   "10: `sum` is the name of an operation, too; here it means this host function"));
}

}  // namespace
}  // namespace cleave::testing
