// From ONNX files to a Graph: the values with their types and names, and the positions of messages.
#include <gtest/gtest.h>

#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "models/model.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using testing::text_of_diagnostics;

Graph read_parts(const GraphParts& parts, const ModelOptions& options = {}, std::int64_t version = 18) {
  Graph graph = parse_onnx(model(graph_of(parts), version), "m.onnx", options);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

/// The first output, computed by the reference implementations.
Array first_output(const Graph& graph, std::map<std::string, Array> inputs) {
  if (!graph.ok()) return ADD_FAILURE() << text_of_diagnostics(graph), Array();
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  return result ? result->outputs.front().second : (ADD_FAILURE() << result.error().message, Array());
}

TEST(OnnxReader, ReadsInputsWeightsAndResultsByTheirNames) {
  const Graph graph = read_parts({.nodes = {node("Add", {"x", "w"}, {"sum"}), node("Sqrt", {"sum"}, {"y"})},
                                  .inputs = {kX},
                                  .outputs = {untyped("y")},
                                  .initializers = {floats("w", {3}, {3, 8, 15})}});
  EXPECT_EQ(to_string(first_output(graph, {{"x", Array::of<float>({2, 3}, {1, 1, 1, 6, 1, 10})}})), "[[2.0, 3.0, 4.0], [3.0, 3.0, 5.0]]");
  EXPECT_EQ(graph.outputs.front().name, "y");
}

TEST(OnnxReader, BorrowsNothingFromBytesThatItDoesNotOwn) {
  std::string bytes = model(graph_of({.nodes = {node("Add", {"x", "w"}, {"y"})},
                                      .inputs = {value_info("x", kFloat, {32})},
                                      .outputs = {untyped("y")},
                                      .initializers = {floats("w", {32}, std::vector<float>(32, 2))}}));
  const Graph graph = parse_onnx(bytes, "m.onnx");
  bytes.assign(bytes.size(), '\xff');
  EXPECT_EQ(first_output(graph, {{"x", Array(TensorType{DType::f32, {32}})}}).at(31), 2);
}

// A misspelled name leaves a size open: one mistake, and not two.
TEST(OnnxReader, SaysOnceThatANameOfASizeIsMisspelt) {
  const GraphParts parts{.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {value_info("x", kFloat, {-2, 3})}, .outputs = {untyped("y")}};
  EXPECT_EQ(text_of_diagnostics(read_parts(parts, {.dims = {{"bacth", 4}}})),
            "m.onnx: error: --dim bacth: the model has no open size of this name; did you mean `batch`?\n"
            "note: sizes are open: `x` axis 0 (batch); give them with --dim batch=N\n");
  EXPECT_EQ(text_of_diagnostics(read_parts(parts, {.shapes = {{"X", {4, 3}}}})),
            "m.onnx: error: --shape X: the model has no input of this name; it has `x`\n"
            "note: sizes are open: `x` axis 0 (batch); give them with --dim batch=N\n");
}

TEST(OnnxReader, SaysOnceWhatSeveralNodesNeedToKnow) {
  GraphParts parts{.inputs = {kX, value_info("s", kInt64, {1}), value_info("t", kInt64, {1})}};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    parts.nodes.push_back(node("Reshape", {"x", "s"}, {name}, {.name = name}));
    parts.outputs.push_back(untyped(name));
  }
  parts.nodes.push_back(node("Reshape", {"x", "t"}, {"f"}, {.name = "f"}));
  parts.nodes.push_back(node("Reshape", {"x", "t"}, {"g"}, {.name = "g"}));
  const std::string what =
      " to be known when the model is read, as the shape of its result depends on it; if it is the same in every run, ";
  EXPECT_EQ(text_of_diagnostics(read_parts(parts)), "m.onnx: node a (Reshape): error: `Reshape` needs `s`" + what +
                                                        "give it with --constant s=VALUE\nnote: 4 more nodes need it: `b`, `c`, `d`, …\n"
                                                        "m.onnx: node f (Reshape): error: `Reshape` needs `t`" +
                                                        what + "give it with --constant t=VALUE\nnote: 1 more node needs it: `g`\n");
}

TEST(OnnxReader, AsksForOpenSizesByTheFlagsThatGiveThem) {
  const GraphParts parts{
      .nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {value_info("x", kFloat, {-2, 3, -1})}, .outputs = {untyped("y")}};
  EXPECT_EQ(text_of_diagnostics(read_parts(parts)),
            "m.onnx: error: sizes are open: `x` axis 0 (batch), `x` axis 2; give them with --dim batch=N --shape x=?,3,N\n");
  const Graph graph = read_parts(parts, {.dims = {{"batch", 4}}, .shapes = {{"x", {std::nullopt, std::nullopt, 5}}}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f32[4, 3, 5]");
  EXPECT_EQ(text_of_diagnostics(read_parts(parts, {.dims = {{"batch", 4}}, .shapes = {{"x", {std::nullopt, 7, 5}}}})),
            "m.onnx: input x: error: has extent 3 along axis 1, and --shape gives 7\n");
  EXPECT_EQ(text_of_diagnostics(read_parts(parts, {.dims = {{"bath", 4}, {"batch", 4}}, .shapes = {{"x", {{}, {}, 5}}}})),
            "m.onnx: error: --dim bath: the model has no open size of this name; did you mean `batch`?\n");
}

TEST(OnnxReader, TakesOpenSizesFromWhatInputsWillBeGiven) {
  const Graph graph = read_parts({.nodes = {node("Add", {"x", "z"}, {"y"})},
                                  .inputs = {value_info("x", kFloat, {-2, 3, -1}), value_info("z", kFloat, {-2, 3, 1})},
                                  .outputs = {untyped("y")}},
                                 {.input_shapes = {{"x", {4, 3, 5}}}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f32[4, 3, 5]");
}

TEST(OnnxReader, SaysItsInputsAsTheyAreDeclared) {
  const test::TemporaryFolder folder;
  const std::string bytes = model(graph_of({.nodes = {node("Add", {"x", "w"}, {"y"})},
                                            .inputs = {value_info("x", kFloat, {-2, 3, -1}), value_info("w", kFloat, {3})},
                                            .outputs = {untyped("y")},
                                            .initializers = {floats("w", {3}, {1, 2, 3})}}));
  const std::vector<DeclaredInput> inputs = declared_inputs(folder.write("m.onnx", bytes));
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].type, "f32[batch, 3, ?]");
  EXPECT_TRUE(declared_inputs(folder.path("nowhere.onnx")).empty());
}

TEST(OnnxReader, FreezesInputsThatDecideShapes) {
  const GraphParts parts{.nodes = {node("Reshape", {"x", "s"}, {"y"}, {.name = "fold"})},
                         .inputs = {kX, value_info("s", kInt64, {2})},
                         .outputs = {untyped("y")}};
  EXPECT_EQ(
      text_of_diagnostics(read_parts(parts)),
      "m.onnx: node fold (Reshape): error: `Reshape` needs `s` to be known when the model is read, as the shape of its result depends "
      "on it; if it is the same in every run, give it with --constant s=VALUE\n");
  const Graph graph = read_parts(parts, {.constants = {{"s", "[3, 2]"}}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f32[3, 2]");
  EXPECT_EQ(text_of_diagnostics(read_parts(parts, {.constants = {{"s", "[3, 2, 1]"}}})),
            "m.onnx: input s: error: --constant s: 2 elements are expected, but 3 are given\n");
}

TEST(OnnxReader, FoldsWhatFollowsFromShapes) {
  const Graph graph = read_parts({.nodes = {node("Shape", {"x"}, {"s"}), node("Mul", {"s", "two"}, {"t"}), node("Div", {"t", "two"}, {"u"}),
                                            node("Reshape", {"x", "u"}, {"y"})},
                                  .inputs = {kX},
                                  .outputs = {untyped("y")},
                                  .initializers = {int64s("two", {2}, {2, 2})}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f32[2, 3]");
}

TEST(OnnxReader, ReportsEveryOperatorThatItLacksOnce) {
  const Graph graph = read_parts({.nodes = {node("Foo", {"x"}, {"a"}, {.name = "first"}), node("Relu", {"a"}, {"b"}),
                                            node("Foo", {"b"}, {"c"}, {.name = "second"}), node("Bar", {"c"}, {"y"}, {.name = "third"})},
                                  .inputs = {kX},
                                  .outputs = {untyped("y")}});
  EXPECT_EQ(text_of_diagnostics(graph),
            "m.onnx: node first (Foo): error: the operator `Foo` is not supported; the model has it 2 times: `first`, `second`\n"
            "m.onnx: node third (Bar): error: the operator `Bar` is not supported\n"
            "note: a host function can compute it: --host-function Bar=LIBRARY.so:SYMBOL, in Python host_functions={\"Bar\": f}\n");
}

TEST(OnnxReader, TakesAnUnknownOperatorForAFunctionOfTheHost) {
  GraphParts parts{
      .nodes = {node("Foo", {"x"}, {"a"}, {.name = "n"}), node("Relu", {"a"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}};
  EXPECT_EQ(text_of_diagnostics(read_parts(parts, {.assume_host = {"Foo"}})),
            "m.onnx: node n (Foo): error: --assume-host Foo: the file does not state the whole type of `a`\n");
  parts.values = {value_info("a", kFloat, {7})};
  const Graph graph = read_parts(parts, {.assume_host = {"Foo"}});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f32[7]");
}

TEST(OnnxReader, BlamesTheLineOfPythonThatAnExportNames) {
  const std::string trace =
      "File \"train.py\", line 7, in forward\n    y = self.block(x)\n"
      "  File \"block.py\", line 3, in forward\n    return x + self.w\n"
      "  File \"/usr/lib/python3/site-packages/torch/nn/functional.py\", line 99, in add\n    return _add(a, b)";
  const Graph graph = read_parts({.nodes = {node("Add", {"x", "w"}, {"y"}, {.name = "node_add", .stack_trace = trace})},
                                  .inputs = {kX},
                                  .outputs = {untyped("y")},
                                  .initializers = {floats("w", {2}, {1, 2})}});
  EXPECT_EQ(text_of_diagnostics(graph),
            "block.py:3: error: `add` of f32[2, 3] and f32[2]: the shapes [2, 3] and [2] do not broadcast\n"
            "m.onnx: note: in `node node_add (Add)`, from here\n"
            "train.py:7: note: in `forward`, from here\n");
}

TEST(OnnxReader, RefusesAnAttributeThatNobodyAskedFor) {
  EXPECT_EQ(text_of_diagnostics(read_parts({.nodes = {node("Sqrt", {"x"}, {"y"}, {.name = "n", .attributes = {integer("backwards", 1)}})},
                                            .inputs = {kX},
                                            .outputs = {untyped("y")}})),
            "m.onnx: node n (Sqrt): error: `Sqrt` with the attribute `backwards` is not supported\n");
}

Message twice_function() {
  return Message()
      .text(1, "Twice")
      .text(10, "local")
      .text(4, "a")
      .text(5, "b")
      .message(9, opset("", 18))
      .message(7, node("Add", {"a", "a"}, {"b"}));
}

TEST(OnnxReader, InlinesFunctions) {
  const Graph graph = parse_onnx(
      model(graph_of({.nodes = {node("Twice", {"x"}, {"t"}, {.domain = "local"}), node("Twice", {"t"}, {"y"}, {.domain = "local"})},
                      .inputs = {kX},
                      .outputs = {untyped("y")}}),
            18, {twice_function()}),
      "m.onnx");
  EXPECT_EQ(first_output(graph, {{"x", Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}}).at(5), 24);
}

GraphParts arm_parts(const char* op) {
  return {.nodes = {node(op, {"x"}, {"r"})}, .outputs = {untyped("r")}};
}

TEST(OnnxReader, BranchesWhereTheConditionIsAnInputAndTakesOneArmWhereItIsKnown) {
  GraphParts parts{.nodes = {node("If", {"c"}, {"y"},
                                  {.attributes = {graph_attribute("then_branch", graph_of(arm_parts("Abs"))),
                                                  graph_attribute("else_branch", graph_of(arm_parts("Neg")))}})},
                   .inputs = {kX, value_info("c", kBool, {})},
                   .outputs = {untyped("y")}};
  const Array x = Array::of<float>({2, 3}, {1, -2, 3, 4, 5, 6});
  EXPECT_EQ(first_output(read_parts(parts), {{"x", x}, {"c", Array::scalar(true)}}).at(1), 2);
  EXPECT_EQ(first_output(read_parts(parts), {{"x", x}, {"c", Array::scalar(false)}}).at(0), -1);
  const Graph frozen = read_parts(parts, {.constants = {{"c", "false"}}});
  EXPECT_EQ(first_output(frozen, {{"x", x}}).at(0), -1);
  EXPECT_EQ(frozen.regions.size(), 1U);
}

TEST(OnnxReader, RefusesAnEmptyOptionalOutOfAnArm) {
  const Message empty = graph_of({.nodes = {node("Optional", {}, {"r"})}, .outputs = {untyped("r")}});
  const GraphParts parts{
      .nodes = {node("If", {"c"}, {"o"}, {.attributes = {graph_attribute("then_branch", empty), graph_attribute("else_branch", empty)}}),
                node("OptionalHasElement", {"o"}, {"y"})},
      .inputs = {value_info("c", kBool, {})},
      .outputs = {untyped("y")}};
  EXPECT_NE(text_of_diagnostics(read_parts(parts)).find("error: `If` with a sequence or an optional value out of an arm"),
            std::string::npos);
}

/// `count` iterations of a = a + x, collecting a; with a condition that holds while a is less than 3.
GraphParts loop(bool condition) {
  GraphParts body{.nodes = {node("Add", {"a", "x"}, {"next"}), node("Identity", {"next"}, {"seen"})},
                  .inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}), untyped("a")},
                  .outputs = {untyped("again"), untyped("next"), untyped("seen")}};
  body.nodes.push_back(condition ? node("Less", {"next", "limit"}, {"again"}) : node("Identity", {"go"}, {"again"}));
  return {.nodes = {node("Loop", {"count", "", "x"}, {"last", "all"},
                         {.name = "grow", .attributes = {graph_attribute("body", graph_of(body))}})},
          .inputs = {value_info("x", kFloat, {})},
          .outputs = {untyped("all"), untyped("last")},
          .initializers = {int64s("count", {}, {4}), floats("limit", {}, {3})}};
}

TEST(OnnxReader, LoopsAndCollects) {
  EXPECT_EQ(to_string(first_output(read_parts(loop(false)), {{"x", Array::scalar(1.F)}})), "[2.0, 3.0, 4.0, 5.0]");
}

TEST(OnnxReader, GivesTheNumberOfTripsWhereALoopEndsEarly) {
  const Graph graph = read_parts(loop(true));
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = {{"x", Array::scalar(1.F)}}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(to_string(*result->output("all")), "[2.0, 3.0]");
  EXPECT_EQ(to_string(*result->output("all.count")), "2");
  EXPECT_EQ(to_string(*result->output("last")), "3.0");
}

/// Results of the reference, "the error" or each output by its name.
std::map<std::string, std::string> looped(const GraphParts& parts, std::map<std::string, Array> inputs, const ModelOptions& options = {}) {
  const Graph graph = read_parts(parts, options);
  if (!graph.ok()) return {{"error", text_of_diagnostics(graph)}};
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  if (!result) return {{"error", result.error().message}};
  std::map<std::string, std::string> found;
  for (const auto& [name, array] : result->outputs) found[name] = to_string(array) + " " + to_string(array.type());
  return found;
}
using Found = std::map<std::string, std::string>;

TEST(OnnxReader, LoopsOfNoTripCollectNothing) {
  const std::map<std::string, Array> x = {{"x", Array::scalar(1.F)}};
  for (const bool condition : {false, true}) {
    GraphParts none = loop(condition);
    none.initializers[0] = int64s("count", {}, {0});
    EXPECT_EQ(looped(none, x), (Found{{"all", "[] f32[0]"}, {"last", "1.0 f32[]"}}));
    none.initializers[0] = int64s("count", {}, {-3});
    EXPECT_EQ(looped(none, x), (Found{{"all", "[] f32[0]"}, {"last", "1.0 f32[]"}}));
    GraphParts never = loop(condition);
    Message body;
    never.nodes = {node("Constant", {}, {"no"}, {.attributes = {tensor_attribute("value", raw_tensor<char>("", kBool, {}, {0}))}})};
    GraphParts inside{
        .nodes = {node("Add", {"a", "x"}, {"next"}), node("Identity", {"next"}, {"seen"}), node("Identity", {"go"}, {"again"})},
        .inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}), untyped("a")},
        .outputs = {untyped("again"), untyped("next"), untyped("seen")}};
    never.nodes.push_back(node("Loop", {"count", "no", "x"}, {"last", "all"}, {.attributes = {graph_attribute("body", graph_of(inside))}}));
    EXPECT_EQ(looped(never, x), (Found{{"all", "[] f32[0]"}, {"last", "1.0 f32[]"}})) << "the condition is false from the beginning";
  }
}

TEST(OnnxReader, ScansOverNothing) {
  const GraphParts body{.nodes = {node("Add", {"sum", "item"}, {"next"}), node("Mul", {"item", "item"}, {"square"})},
                        .inputs = {untyped("sum"), untyped("item")},
                        .outputs = {untyped("next"), untyped("square")}};
  const auto scan = [&](std::int64_t length, std::int64_t axis) {
    return GraphParts{.nodes = {node("Scan", {"zero", "x"}, {"total", "squares"},
                                     {.attributes = {graph_attribute("body", graph_of(body)), integer("num_scan_inputs", 1),
                                                     integers("scan_input_axes", {axis}), integers("scan_output_axes", {axis})}})},
                      .inputs = {axis == 0 ? value_info("x", kFloat, {length, 2}) : value_info("x", kFloat, {2, length})},
                      .outputs = {untyped("total"), untyped("squares")},
                      .initializers = {floats("zero", {2}, {3, 4})}};
  };
  EXPECT_EQ(looped(scan(0, 0), {{"x", Array(TensorType{DType::f32, {0, 2}})}}),
            (Found{{"total", "[3.0, 4.0] f32[2]"}, {"squares", "[] f32[0, 2]"}}));
  EXPECT_EQ(looped(scan(0, 1), {{"x", Array(TensorType{DType::f32, {2, 0}})}}).at("total"), "[3.0, 4.0] f32[2]");
  EXPECT_EQ(looped(scan(1, 0), {{"x", Array::of<float>({1, 2}, {1, 2})}}),
            (Found{{"total", "[4.0, 6.0] f32[2]"}, {"squares", "[[1.0, 4.0]] f32[1, 2]"}}));
}

/// A loop that appends its counter to a vector, which is `first` elements long at first.
GraphParts growing(bool known) {
  const GraphParts body{
      .nodes = {node("Unsqueeze", {"i", "front"}, {"one"}), node("Cast", {"one"}, {"next"}, {.attributes = {integer("to", kFloat)}}),
                node("Concat", {"v", "next"}, {"more"}, {.attributes = {integer("axis", 0)}}),
                node("ReduceSum", {"v"}, {"sum"}, {.attributes = {integer("keepdims", 0)}}), node("Less", {"sum", "limit"}, {"again"})},
      .inputs = {value_info("i", kInt64, {}), value_info("go", kBool, {}), untyped("v")},
      .outputs = {untyped("again"), untyped("more")}};
  GraphParts parts{
      .nodes = {node("Loop", {"count", "", "x"}, {"y"}, {.name = "grow", .attributes = {graph_attribute("body", graph_of(body))}})},
      .inputs = {value_info("x", kFloat, {2})},
      .outputs = {untyped("y")},
      .initializers = {int64s("front", {1}, {0}), floats("limit", {}, {6})}};
  if (known)
    parts.initializers.push_back(int64s("count", {}, {3}));
  else
    parts.inputs.push_back(value_info("count", kInt64, {}));
  return parts;
}

TEST(OnnxReader, LoopsCarryValuesThatGrow) {
  const auto ran = [&](float first, std::int64_t count) {
    return looped(growing(false), {{"x", Array::of<float>({2}, {first, 1})}, {"count", Array::scalar(count)}}, {.bounds = {{"grow", 4}}});
  };
  EXPECT_EQ(ran(1, 0).at("y"), "[1.0, 1.0] f32[2]");
  EXPECT_EQ(ran(1, 1).at("y"), "[1.0, 1.0, 0.0] f32[3]");
  EXPECT_EQ(ran(1, 4).at("y"), "[1.0, 1.0, 0.0, 1.0, 2.0, 3.0] f32[6]");
  EXPECT_EQ(ran(4, 9).at("y"), "[4.0, 1.0, 0.0, 1.0, 2.0] f32[5]") << "the condition ends it";
  EXPECT_EQ(ran(1, 9), (Found{{"error", "`grow`: there are 9 results, and --bound grow=4 makes room for 4; give a larger one"}}));
  EXPECT_EQ(looped(growing(true), {{"x", Array::of<float>({2}, {1, 1})}}).at("y"), "[1.0, 1.0, 0.0, 1.0, 2.0] f32[5]");
  EXPECT_EQ(
      text_of_diagnostics(read_parts(growing(false))),
      "m.onnx: node grow (Loop): error: `Loop` carries a value that grows in every trip, and how many trips there are is not known "
      "when the model is read; if it is the same in every run, give it with --constant count=VALUE; say how many there are at most with "
      "--bound grow=N\n");
}

TEST(OnnxReader, ArmsGiveValuesOfDifferentSizes) {
  const GraphParts two{.nodes = {node("Slice", {"x", "from", "to"}, {"t"})}, .outputs = {untyped("t")}};
  const GraphParts all{.nodes = {node("Identity", {"x"}, {"e"})}, .outputs = {untyped("e")}};
  const GraphParts parts{
      .nodes = {node("If", {"c"}, {"y"},
                     {.attributes = {graph_attribute("then_branch", graph_of(two)), graph_attribute("else_branch", graph_of(all))}}),
                node("ReduceSum", {"y"}, {"sum"}, {.attributes = {integer("keepdims", 0)}})},
      .inputs = {value_info("c", kBool, {}), value_info("x", kFloat, {3})},
      .outputs = {untyped("y"), untyped("sum")},
      .initializers = {int64s("from", {1}, {0}), int64s("to", {1}, {2})}};
  const Array x = Array::of<float>({3}, {1, 2, 4});
  EXPECT_EQ(looped(parts, {{"c", Array::scalar<bool>(true)}, {"x", x}}), (Found{{"y", "[1.0, 2.0] f32[2]"}, {"sum", "3.0 f32[]"}}));
  EXPECT_EQ(looped(parts, {{"c", Array::scalar<bool>(false)}, {"x", x}}), (Found{{"y", "[1.0, 2.0, 4.0] f32[3]"}, {"sum", "7.0 f32[]"}}));
}

TEST(OnnxReader, SaysWhereABoundEndsALoop) {
  GraphParts open = loop(true);  // while a is below 3
  open.initializers = {floats("limit", {}, {3})};
  open.inputs.push_back(value_info("count", kInt64, {}));
  const auto ran = [&](std::int64_t count, std::int64_t bound) {
    return looped(open, {{"x", Array::scalar(1.F)}, {"count", Array::scalar(count)}}, {.bounds = {{"grow", bound}}});
  };
  EXPECT_EQ(ran(100, 3), (Found{{"all", "[2.0, 3.0] f32[2]"}, {"last", "3.0 f32[]"}}));
  EXPECT_EQ(ran(1, 1).at("all"), "[2.0] f32[1]") << "the count ends it, not the bound";
  EXPECT_EQ(ran(100, 1), (Found{{"error", "`grow`: there are 100 results, and --bound grow=1 makes room for 1; give a larger one"}}));
  EXPECT_EQ(ran(0, 1).at("all"), "[] f32[0]");
}

}  // namespace
}  // namespace cleave
