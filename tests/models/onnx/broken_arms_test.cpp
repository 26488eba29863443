// Branches of `If` that cannot be read: a run that does not take such a branch is unaffected, and one that does ends with the reader's
// error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/api/executable.h"
#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using ::testing::HasSubstr;
using testing::text_of_diagnostics;

const Message kC = value_info("c", kBool, {}), kD = value_info("d", kBool, {});
const Array kOnes = Array::of<float>({2, 3}, {1, 1, 1, 1, 1, 1});

/// A branch of one node; MatMul of `x` with itself has incompatible shapes.
Message arm_message(const char* op, const char* name = "") {
  const bool two = std::string_view(op) == "MatMul";
  return graph_of(
      {.nodes = {node(op, two ? std::vector<std::string_view>{"x", "x"} : std::vector<std::string_view>{"x"}, {"r"}, {.name = name})},
       .outputs = {untyped("r")}});
}
Message choice(const char* name, std::string_view condition, const Message& then, const Message& otherwise, const char* result) {
  return node("If", {condition}, {result},
              {.name = name, .attributes = {graph_attribute("then_branch", then), graph_attribute("else_branch", otherwise)}});
}
Message arm_of(const Message& inner) {
  return graph_of({.nodes = {inner}, .outputs = {untyped("r")}});
}

Graph read_nodes(std::vector<Message> nodes, const ModelOptions& options = {}, const std::vector<Message>& functions = {}) {
  const GraphParts parts{.nodes = std::move(nodes), .inputs = {kX, kC, kD}, .outputs = {untyped("y")}};
  Graph graph = parse_onnx(model(graph_of(parts), 18, functions), "m.onnx", options);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}
/// The first number of the result, or the error with its location.
std::string first_number(const Graph& graph, bool c, bool d = true) {
  if (!graph.ok()) return text_of_diagnostics(graph);
  const std::map<std::string, Array> inputs = {{"x", kOnes}, {"c", Array::scalar(c)}, {"d", Array::scalar(d)}};
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = inputs});
  if (!result) return std::string(result.error().location.file_name()) + ": " + result.error().message;
  return std::to_string(static_cast<int>(result->outputs.front().second.at(0)));
}

constexpr const char* kReason = "`matmul` of f32[2, 3] and f32[2, 3]";

TEST(BrokenArms, FailOnlyWhereTheyAreTaken) {
  const Graph otherwise = read_nodes({choice("pick", "c", arm_message("Neg"), arm_message("MatMul", "bad"), "y")});
  ASSERT_TRUE(otherwise.ok()) << text_of_diagnostics(otherwise);
  EXPECT_THAT(text_of_diagnostics(otherwise),
              HasSubstr(std::string("m.onnx: node bad (MatMul): warning: the else arm of `pick` cannot run: ") + kReason));
  EXPECT_THAT(text_of_diagnostics(otherwise), HasSubstr("note: a run that takes it ends with this error\n"
                                                        "note: if it is the same in every run, give it with --constant c=VALUE\n"));
  EXPECT_EQ(first_number(otherwise, true), "-1");
  EXPECT_THAT(first_number(otherwise, false), HasSubstr("m.onnx: node bad (MatMul): `the else arm of pick`: cannot run: `matmul` of "));
  const Graph then = read_nodes({choice("pick", "c", arm_message("MatMul", "bad"), arm_message("Neg"), "y")});
  EXPECT_THAT(text_of_diagnostics(then), HasSubstr("warning: the then arm of `pick` cannot run: "));
  EXPECT_EQ(first_number(then, false), "-1");
  EXPECT_THAT(first_number(then, true), HasSubstr("`the then arm of pick`: cannot run"));
}

TEST(BrokenArms, AreNotSpokenOfWhereAConstantLeavesThemOut) {
  const std::vector<Message> nodes = {choice("pick", "c", arm_message("Neg"), arm_message("MatMul", "bad"), "y")};
  const Graph good = read_nodes(nodes, {.constants = {{"c", "true"}}});
  EXPECT_TRUE(good.ok() && good.diagnostics.empty()) << text_of_diagnostics(good);
  EXPECT_FALSE(read_nodes(nodes, {.constants = {{"c", "false"}}}).ok());
}

TEST(BrokenArms, AreErrorsWhereNoArmIsLeftOrAnotherMistakeIs) {
  const Graph both = read_nodes({choice("pick", "c", arm_message("MatMul", "a"), arm_message("MatMul", "b"), "y")});
  EXPECT_FALSE(both.ok());
  EXPECT_EQ(both.diagnostics.size(), 2U);
  for (const Diagnostic& each : both.diagnostics) {
    EXPECT_EQ(each.severity, Severity::error);
    EXPECT_EQ(each.notes.back().message, "this lies in an arm of `If`; if it is the same in every run, give it with --constant c=VALUE");
  }
  const Graph outside = read_nodes({choice("pick", "c", arm_message("Neg"), arm_message("MatMul", "a"), "z"),
                                    node("MatMul", {"x", "x"}, {"w"}, {.name = "b"}), node("Identity", {"z"}, {"y"})});
  EXPECT_FALSE(outside.ok());
  EXPECT_EQ(outside.diagnostics.size(), 2U);
}

TEST(BrokenArms, TakeTheArmAroundThemAlongWhereNeitherIsWhole) {
  const Graph inner = read_nodes(
      {choice("outer", "c", arm_of(choice("inner", "d", arm_message("MatMul", "bad"), arm_message("Neg"), "r")), arm_message("Abs"), "y")});
  EXPECT_THAT(text_of_diagnostics(inner), HasSubstr("warning: the then arm of `inner` cannot run: "));
  EXPECT_EQ(first_number(inner, false, true), "1");
  EXPECT_EQ(first_number(inner, true, false), "-1");
  EXPECT_THAT(first_number(inner, true, true), HasSubstr("`the then arm of inner`: cannot run"));
  const Graph outer = read_nodes({choice(
      "outer", "c", arm_of(choice("inner", "d", arm_message("MatMul", "a"), arm_message("MatMul", "b"), "r")), arm_message("Abs"), "y")});
  EXPECT_THAT(text_of_diagnostics(outer), HasSubstr("warning: the then arm of `outer` cannot run: "));
  EXPECT_THAT(text_of_diagnostics(outer), HasSubstr("note: there is 1 more mistake in it\n"));
  EXPECT_EQ(outer.diagnostics.size(), 1U);
  EXPECT_EQ(first_number(outer, false), "1");
}

// Readers of the result of such an `If` are only examined once the branch is known.
TEST(BrokenArms, AreFoundBehindEachOther) {
  const Graph graph =
      read_nodes({choice("first", "c", arm_message("Neg"), arm_message("MatMul", "a"), "z"),
                  choice("second", "d", graph_of({.nodes = {node("MatMul", {"z", "z"}, {"r"}, {.name = "b"})}, .outputs = {untyped("r")}}),
                         graph_of({.nodes = {node("Neg", {"z"}, {"r"})}, .outputs = {untyped("r")}}), "y")});
  EXPECT_EQ(graph.diagnostics.size(), 2U) << text_of_diagnostics(graph);
  EXPECT_EQ(first_number(graph, true, false), "1");
  EXPECT_THAT(first_number(graph, false, false), HasSubstr("`the else arm of first`: cannot run"));
  EXPECT_THAT(first_number(graph, true, true), HasSubstr("`the then arm of second`: cannot run"));
}

TEST(BrokenArms, MayHoldAnOperatorThatIsNotThere) {
  const Graph graph = read_nodes({choice("pick", "c", arm_message("Neg"), arm_message("Unheard", "bad"), "y")});
  EXPECT_THAT(text_of_diagnostics(graph),
              HasSubstr("m.onnx: node bad (Unheard): warning: the else arm of `pick` cannot run: the operator `Unheard` is not supported"));
  EXPECT_EQ(first_number(graph, true), "-1");
}

TEST(BrokenArms, StandInLoopsAndFunctions) {
  GraphParts body{
      .nodes = {choice("pick", "c", arm_message("Neg"), arm_message("MatMul", "bad"), "seen"), node("Identity", {"go"}, {"again"})},
      .inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {})},
      .outputs = {untyped("again"), untyped("seen")}};
  const Graph loop = read_nodes({node("Constant", {}, {"count"}, {.attributes = {tensor_attribute("value", int64s("", {}, {4}))}}),
                                 node("Loop", {"count", ""}, {"y"}, {.attributes = {graph_attribute("body", graph_of(body))}})});
  EXPECT_EQ(loop.diagnostics.size(), 1U) << text_of_diagnostics(loop);
  EXPECT_EQ(first_number(loop, true), "-1");
  EXPECT_THAT(first_number(loop, false), HasSubstr("cannot run"));
  const Message function = Message()
                               .text(1, "F")
                               .text(10, "local")
                               .text(4, "x")
                               .text(4, "c")
                               .text(5, "r")
                               .message(9, opset("", 18))
                               .message(7, choice("pick", "c", arm_message("Neg"), arm_message("MatMul", "bad"), "r"));
  const Graph twice =
      read_nodes({node("F", {"x", "c"}, {"z"}, {.domain = "local"}), node("F", {"z", "d"}, {"y"}, {.domain = "local"})}, {}, {function});
  EXPECT_EQ(first_number(twice, true, true), "1") << text_of_diagnostics(twice);
  EXPECT_THAT(first_number(twice, true, false), HasSubstr("cannot run"));
}

TEST(BrokenArms, AreGivenUpWhereThereAreTooManyBehindEachOther) {
  std::vector<Message> nodes;
  std::vector<std::string> names{"x"};
  for (int i = 0; i < 20; ++i) names.push_back("z" + std::to_string(i));
  for (std::size_t i = 0; i + 1 < names.size(); ++i)
    nodes.push_back(choice("pick", "c", graph_of({.nodes = {node("Neg", {names[i]}, {"r"})}, .outputs = {untyped("r")}}),
                           graph_of({.nodes = {node("MatMul", {names[i], names[i]}, {"r"})}, .outputs = {untyped("r")}}),
                           names[i + 1].c_str()));
  nodes.push_back(node("Identity", {names.back()}, {"y"}));
  EXPECT_FALSE(read_nodes(nodes).ok());
}

// The warning obeys flags like other warnings.
TEST(BrokenArms, AreSilencedOrErrorsByFlags) {
  const Graph graph = read_nodes({choice("pick", "c", arm_message("Neg"), arm_message("MatMul", "bad"), "y")});
  const auto plan = [&](const char* flag) {
    CompileOptions options;
    options.device = "none";
    EXPECT_TRUE(!*flag || options.diagnostics.parse(flag));
    const Result<Executable> program = compile(graph, options);
    return program ? std::to_string(program->plan().diagnostics.size()) : to_text(program.error());
  };
  EXPECT_EQ(plan(""), "1");
  EXPECT_EQ(plan("w"), "0");
  EXPECT_THAT(plan("Werror"), HasSubstr("cannot run"));
}

}  // namespace
}  // namespace cleave
