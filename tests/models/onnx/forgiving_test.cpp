// Files that other readers refuse or misread: nodes in another order, sparse tensors, sizes that are expressions, and declarations that are
// wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/check/reference.h"
#include "graph/ops/ops.h"
#include "graph/passes/verify.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "models/network.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using ::testing::HasSubstr;
using testing::text_of_diagnostics;

Graph read_whole(const GraphParts& parts, const ModelOptions& options = {}, const Message& more = {}) {
  Graph graph = parse_onnx(model(graph_of(parts).raw(more.bytes())), "m.onnx", options);
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}
std::string run_whole(const Graph& graph, std::map<std::string, Array> inputs) {
  if (!graph.ok()) return text_of_diagnostics(graph);
  const Result<RunResult> result = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  return result ? to_string(result->outputs.front().second) : result.error().message;
}
const Array kSix = Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});

// --- order of nodes ----------------------------------------------------------------------------------------------------------------------

TEST(OnnxOrder, IsThatOfWhatNodesRead) {
  const GraphParts parts{.nodes = {node("Add", {"b", "w"}, {"y"}), node("Neg", {"a"}, {"b"}), node("Mul", {"x", "x"}, {"a"})},
                         .inputs = {kX},
                         .outputs = {untyped("y")},
                         .initializers = {floats("w", {}, {100})}};
  EXPECT_EQ(run_whole(read_whole(parts), {{"x", kSix}}), "[[99.0, 96.0, 91.0], [84.0, 75.0, 64.0]]");
}

/// Random numbers are drawn in the order of the file where nothing demands another one.
TEST(OnnxOrder, KeepsThatOfTheFileWhereItCan) {
  const auto order = [](const std::vector<Message>& nodes) {
    const Graph graph = read_whole({.nodes = nodes, .inputs = {kX}, .outputs = {untyped("e")}});
    std::string names;
    for (const auto& each : graph.nodes)
      if (each.kind == NodeKind::operation) names += std::string(each.op->name) + " ";
    return graph.ok() ? names : text_of_diagnostics(graph);
  };
  EXPECT_EQ(order({node("Neg", {"x"}, {"a"}), node("Add", {"late", "a"}, {"e"}), node("Exp", {"x"}, {"b"}), node("Abs", {"b"}, {"late"})}),
            "negative exp abs add ");
}

TEST(OnnxOrder, CountsWhatInnerGraphsRead) {
  const auto arm = [](const char* op) { return graph_of({.nodes = {node(op, {"late"}, {"r"})}, .outputs = {untyped("r")}}); };
  const GraphParts parts{
      .nodes = {node("If", {"c"}, {"y"},
                     {.attributes = {graph_attribute("then_branch", arm("Neg")), graph_attribute("else_branch", arm("Abs"))}}),
                node("Mul", {"x", "x"}, {"late"})},
      .inputs = {kX, value_info("c", kBool, {})},
      .outputs = {untyped("y")}};
  EXPECT_EQ(run_whole(read_whole(parts), {{"x", kSix}, {"c", Array::scalar(true)}}), "[[-1.0, -4.0, -9.0], [-16.0, -25.0, -36.0]]");
}

TEST(OnnxOrder, MayBeAnyInInnerGraphsAndFunctions) {
  const Message arm = graph_of(
      {.nodes = {node("Neg", {"in"}, {"r"}), node("Exp", {"zero"}, {"in"}), node("Sub", {"x", "x"}, {"zero"})}, .outputs = {untyped("r")}});
  const Message function = Message()
                               .text(1, "Twice")
                               .text(4, "v")
                               .text(5, "t")
                               .message(7, node("Add", {"n", "n"}, {"t"}))
                               .message(7, node("Neg", {"v"}, {"n"}))
                               .message(9, opset("", 18))
                               .text(10, "local");
  const GraphParts parts{
      .nodes = {node("Twice", {"r"}, {"y"}, {.domain = "local"}),
                node("If", {"c"}, {"r"}, {.attributes = {graph_attribute("then_branch", arm), graph_attribute("else_branch", arm)}})},
      .inputs = {kX, value_info("c", kBool, {})},
      .outputs = {untyped("y")}};
  const Graph graph = parse_onnx(model(graph_of(parts), 18, {function}), "m.onnx");
  EXPECT_EQ(run_whole(graph, {{"x", kSix}, {"c", Array::scalar(true)}}), "[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]");
}

TEST(OnnxOrder, OfACycleIsOneErrorThatNamesIt) {
  const GraphParts parts{.nodes = {node("Relu", {"x"}, {"fine"}, {.name = "fine"}), node("Neg", {"c"}, {"behind"}, {.name = "behind"}),
                                   node("Add", {"fine", "c"}, {"a"}, {.name = "first"}), node("Neg", {"a"}, {"b"}, {.name = "second"}),
                                   node("Abs", {"b"}, {"c"}, {.name = "third"})},
                         .inputs = {kX},
                         .outputs = {untyped("c"), untyped("behind")}};
  EXPECT_EQ(
      text_of_diagnostics(read_whole(parts)),
      "m.onnx: node first (Add): error: nodes read each other's results in a cycle, so that none of them can be the first: `first (Add)`, "
      "`second (Neg)`, `third (Abs)`\n");
  EXPECT_EQ(text_of_diagnostics(
                read_whole({.nodes = {node("Add", {"x", "y"}, {"y"}, {.name = "n"})}, .inputs = {kX}, .outputs = {untyped("y")}})),
            "m.onnx: node n (Add): error: the node reads its own result\n");
}

// --- sparse tensors ----------------------------------------------------------------------------------------------------------------------

Message sparse(const Message& values, const Message& indices, std::initializer_list<std::int64_t> shape) {
  Message message = Message().message(1, values).message(2, indices);
  for (const std::int64_t extent : shape) message.varint(3, extent);
  return message;
}
std::string with_sparse(const Message& tensor) {
  return run_whole(
      read_whole({.nodes = {node("Add", {"x", "w"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}}, {}, Message().message(15, tensor)),
      {{"x", Array(kSix.type())}});
}

TEST(OnnxSparse, InitializersAreWrittenOut) {
  EXPECT_EQ(with_sparse(sparse(floats("w", {2}, {7, 8}), int64s("", {2}, {1, 5}), {2, 3})), "[[0.0, 7.0, 0.0], [0.0, 0.0, 8.0]]");
  EXPECT_EQ(with_sparse(sparse(floats("w", {2}, {7, 8}), int64s("", {2, 2}, {1, 2, 0, 1}), {2, 3})), "[[0.0, 8.0, 0.0], [0.0, 0.0, 7.0]]");
  EXPECT_EQ(with_sparse(sparse(floats("w", {0}, {}), int64s("", {0}, {}), {2, 3})), "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]");
}

TEST(OnnxSparse, ConstantsAreWrittenOut) {
  const Message value =
      Message().text(1, "sparse_value").message(22, sparse(floats("", {1}, {5}), int64s("", {1}, {2}), {3})).varint(20, 11);
  EXPECT_EQ(run_whole(read_whole({.nodes = {node("Constant", {}, {"c"}, {.attributes = {value}}), node("Add", {"x", "c"}, {"y"})},
                                  .inputs = {kX},
                                  .outputs = {untyped("y")}}),
                      {{"x", kSix}}),
            "[[1.0, 2.0, 8.0], [4.0, 5.0, 11.0]]");
}

TEST(OnnxSparse, MistakesAreErrors) {
  const std::string place = "m.onnx: initializer w: error: sparse tensor `w` ";
  EXPECT_EQ(with_sparse(sparse(floats("w", {1}, {7}), int64s("", {1}, {6}), {2, 3})), place + "has an index outside of its shape [2, 3]\n");
  EXPECT_EQ(with_sparse(sparse(floats("w", {1}, {7}), int64s("", {1, 2}, {0, 3}), {2, 3})),
            place + "has an index outside of its shape [2, 3]\n");
  EXPECT_EQ(with_sparse(sparse(floats("w", {1}, {7}), int64s("", {1}, {-1}), {2, 3})),
            place + "has an index outside of its shape [2, 3]\n");
  EXPECT_EQ(with_sparse(sparse(floats("w", {2}, {7, 8}), int64s("", {2}, {4, 4}), {2, 3})), place + "gives an element twice\n");
  EXPECT_EQ(with_sparse(sparse(floats("w", {2}, {7, 8}), int64s("", {1}, {4}), {2, 3})),
            place + "has values f32[2] and indices i64[1], which do not fit its shape [2, 3]\n");
  EXPECT_EQ(with_sparse(sparse(floats("w", {1}, {7}), int64s("", {1}, {0}), {-2, 3})), place + "has the impossible shape [-2, 3]\n");
  EXPECT_EQ(with_sparse(sparse(floats("w", {1}, {7}), int64s("", {1}, {0}), {1 << 20, 1 << 20})),
            place + "holds 1 of 1099511627776 elements; that few are not written out, as they could take all memory\n");
  EXPECT_THAT(with_sparse(sparse(floats("w", {1}, {7}), int64s("", {1}, {0}), {INT64_MAX, 3})), HasSubstr("impossible shape"));
  EXPECT_THAT(with_sparse(Message()), HasSubstr("error"));
}

/// Many small tensors of a file may not become very large together.
TEST(OnnxSparse, TensorsOfAFileHaveOneLimit) {
  GraphParts parts{.nodes = {node("Neg", {"x"}, {"y"})}, .inputs = {kX}, .outputs = {untyped("y")}};
  Message tensors;
  for (int i = 0; i < 5; ++i) tensors.message(15, sparse(floats("w" + std::to_string(i), {1}, {7}), int64s("", {1}, {0}), {1 << 20}));
  EXPECT_EQ(
      text_of_diagnostics(read_whole(parts, {}, tensors)),
      "m.onnx: initializer w4: error: sparse tensor `w4` holds 1 of 1048576 elements; that few are not written out, as they could take all "
      "memory\n");
}

// --- sizes that are expressions --------------------------------------------------------------------------------------------------------

Message sized(std::string_view name, const std::vector<std::string_view>& sizes) {
  Message dims;
  for (const std::string_view size : sizes) dims.message(1, Message().text(2, size));
  return Message().text(1, name).message(2, Message().message(1, Message().varint(1, kFloat).message(2, dims)));
}
std::string type_of_input(std::string_view size, const std::map<std::string, std::int64_t>& dims) {
  const Graph graph =
      read_whole({.nodes = {node("Neg", {"x"}, {"y"})}, .inputs = {sized("x", {size})}, .outputs = {untyped("y")}}, {.dims = dims});
  return graph.ok() ? to_string(graph.values[graph.outputs.front().value].type) : text_of_diagnostics(graph);
}

TEST(OnnxSizes, FollowFromTheirParts) {
  EXPECT_EQ(type_of_input("past_len + seq", {{"past_len", 4}, {"seq", 1}}), "f32[5]");
  EXPECT_EQ(type_of_input("2*s0", {{"s0", 7}}), "f32[14]");
  EXPECT_EQ(type_of_input("s0//2 + 1", {{"s0", 7}}), "f32[4]");
  EXPECT_EQ(type_of_input("((s0 - 1)//2) + 1", {{"s0", 7}}), "f32[4]");
  EXPECT_EQ(type_of_input("-(-s0//2)", {{"s0", 7}}), "f32[4]");
  EXPECT_EQ(type_of_input("floor(h/2 - 1/2) + 1", {{"h", 8}}), "f32[4]");
  EXPECT_EQ(type_of_input("ceiling(h/3)", {{"h", 8}}), "f32[3]");
  EXPECT_EQ(type_of_input("Max(1, s0 - 3, 2)", {{"s0", 4}}), "f32[2]");
  EXPECT_EQ(type_of_input("Min(s0, 16)*Mod(s0, 8)", {{"s0", 20}}), "f32[64]");
  EXPECT_EQ(type_of_input("FloorDiv(s0, 3) + s0 % 3 + s0**2", {{"s0", 5}}), "f32[28]");
  EXPECT_EQ(type_of_input("batch-size", {{"batch-size", 6}}), "f32[6]") << "the whole text is a name";
  EXPECT_EQ(type_of_input("a + b", {{"a + b", 6}}), "f32[6]");
}

TEST(OnnxSizes, AreAskedForByTheirParts) {
  EXPECT_EQ(type_of_input("past_len + seq", {{"seq", 1}}),
            "m.onnx: error: sizes are open: `x` axis 0 (past_len + seq); give them with --dim past_len=N\n");
  EXPECT_EQ(type_of_input("s0//2 + s1", {}),
            "m.onnx: error: sizes are open: `x` axis 0 (s0//2 + s1); give them with --dim s0=N --dim s1=N\n");
  EXPECT_EQ(type_of_input("batch-size", {}), "m.onnx: error: sizes are open: `x` axis 0 (batch-size); give them with --dim batch-size=N\n");
  EXPECT_EQ(type_of_input("s0 - 5", {{"s0", 3}}), "m.onnx: input x: error: axis 0 is `s0 - 5`, which is -2\n");
  EXPECT_EQ(type_of_input("2*s0", {{"s1", 3}}),
            "m.onnx: error: --dim s1: the model has no open size of this name; did you mean `s0`?\n"
            "note: sizes are open: `x` axis 0 (2*s0); give them with --dim s0=N\n");
}

/// Whatever a name is, it is read or asked for.
TEST(OnnxSizes, ThatAreNoExpressionsAreNames) {
  const std::map<std::string, std::int64_t> one = {{"a", 1}};
  for (const std::string& text :
       {std::string(100'000, '('), "a" + std::string(100'000, '-'), std::string(100'000, '-') + "a", std::string("a +"),
        std::string("f(a)"), std::string("a b"), std::string("a/0"), std::string("9**64"), std::string("a/2"),
        std::string("9223372036854775807*9"), std::string("99999999999999999999*a"), std::string("Max()")})
    EXPECT_THAT(type_of_input(text, one), HasSubstr("sizes are open")) << text.substr(0, 20);
}

TEST(OnnxSizes, OfArgumentsFitTheExpressions) {
  const test::TemporaryFolder folder;
  folder.write("m.onnx", model(graph_of({.nodes = {node("Concat", {"past", "new"}, {"all"}, {.attributes = {integer("axis", 0)}}),
                                                   node("Mul", {"all", "mask"}, {"y"})},
                                         .inputs = {sized("past", {"p"}), sized("new", {"n"}), sized("mask", {"p + n"})},
                                         .outputs = {untyped("y")}})));
  const Result<Network> net = Network::load(folder.path("m.onnx"), {});
  ASSERT_TRUE(net) << net.error().message;
  const auto called = [&](const char* mask) {
    return trace("t", {{"past", "f32[4]"}, {"new", "f32[1]"}, {"mask", mask}}, [&](Tensor past, Tensor fresh, Tensor weights) {
      return named("y", (*net)(std::vector<Tensor>(), {past, fresh, weights}));
    });
  };
  EXPECT_TRUE(called("f32[5]").ok()) << text_of_diagnostics(called("f32[5]"));
  EXPECT_THAT(text_of_diagnostics(called("f32[6]")), HasSubstr("takes 5 as `p + n`, but it is 6 in `mask`"));
}

// --- declarations ----------------------------------------------------------------------------------------------------------------------

TEST(OnnxDeclarations, OfResultsThatAreWrongAreWarnings) {
  const auto declared = [](const Message& output, const ModelOptions& options = {}) {
    const Graph graph =
        read_whole({.nodes = {node("Transpose", {"x"}, {"y"})}, .inputs = {value_info("x", kFloat, {-2, 3})}, .outputs = {output}},
                   options.dims.empty() ? ModelOptions{.dims = {{"batch", 2}}} : options);
    EXPECT_TRUE(graph.ok());
    EXPECT_EQ(to_string(graph.values[graph.outputs.front().value].type), options.dims.empty() ? "f32[3, 2]" : "f32[3, 4]");
    return text_of_diagnostics(graph);
  };
  const std::string place = "m.onnx: output y: warning: the file declares `y` as ";
  EXPECT_EQ(declared(value_info("y", kFloat, {2, 3})), place + "f32[2, 3], but its nodes compute f32[3, 2]\n");
  EXPECT_EQ(declared(value_info("y", kFloat, {3})), place + "f32[3], but its nodes compute f32[3, 2]\n");
  EXPECT_EQ(declared(value_info("y", kInt64, {3, 2})), place + "i64[3, 2], but its nodes compute f32[3, 2]\n");
  EXPECT_EQ(declared(sized("y", {"rows", "batch"})), "");
  EXPECT_EQ(declared(sized("y", {"batch", "batch"})), place + "f32[batch, batch], but its nodes compute f32[3, 2]\n");
  EXPECT_EQ(declared(value_info("y", kFloat, {3, 2}), {.dims = {{"batch", 4}}}), place + "f32[3, 2], but its nodes compute f32[3, 4]\n");
  EXPECT_EQ(declared(untyped("y")), "");
}

/// A loop that doubles a value and collects it, with `trips` known or an input.
GraphParts doubling(bool known, std::int64_t trips) {
  const Message body =
      graph_of({.nodes = {node("Identity", {"cond"}, {"goes"}), node("Add", {"v", "v"}, {"next"}), node("Identity", {"next"}, {"seen"})},
                .inputs = {value_info("i", kInt64, {}), value_info("cond", kBool, {}), value_info("v", kFloat, {2, 3})},
                .outputs = {untyped("goes"), untyped("next"), untyped("seen")}});
  GraphParts parts{.nodes = {node("Loop", {"m", "", "x"}, {"last", "all"}, {.name = "n", .attributes = {graph_attribute("body", body)}}),
                             node("Shape", {"all"}, {"y"})},
                   .inputs = {kX},
                   .outputs = {untyped("last"), untyped("y")}};
  if (known) {
    parts.initializers = {int64s("m", {}, {trips})};
  } else {
    parts.inputs.push_back(value_info("m", kInt64, {}));
    parts.nodes.pop_back();
    parts.outputs.pop_back();
    parts.outputs.push_back(untyped("all"));
  }
  return parts;
}

TEST(OnnxLoop, WithoutATripGivesWhatItIsGiven) {
  const auto results = [](const Graph& graph, std::map<std::string, Array> inputs) {
    if (!graph.ok()) return text_of_diagnostics(graph);
    const Result<RunResult> run = runtime::run_reference(graph, {.inputs = std::move(inputs)});
    if (!run) return run.error().message;
    std::string text;
    for (const auto& [name, array] : run->outputs) text += name + ": " + to_string(array) + "\n";
    return text;
  };
  for (const std::int64_t trips : {0, -3})
    EXPECT_EQ(results(read_whole(doubling(true, trips)), {{"x", kSix}}), "last: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\ny: [0, 2, 3]\n")
        << trips;
  EXPECT_EQ(results(read_whole(doubling(true, 2)), {{"x", kSix}}), "last: [[4.0, 8.0, 12.0], [16.0, 20.0, 24.0]]\ny: [2, 2, 3]\n");
  EXPECT_EQ(results(read_whole(doubling(false, 0), {.bounds = {{"n", 2}}}), {{"x", kSix}, {"m", Array::scalar(std::int64_t{0})}}),
            "last: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\nall: []\n");
}

TEST(OnnxIf, WithArmsOfOtherShapesSaysWhichInputDecides) {
  const auto arm = [](std::int64_t kept) {
    return graph_of({.nodes = {node("ReduceMean", {"x"}, {"r"}, {.attributes = {integers("axes", {1}), integer("keepdims", kept)}})},
                     .outputs = {untyped("r")}});
  };
  const GraphParts parts{
      .nodes = {node("Equal", {"rate", "k"}, {"c"}),
                node("If", {"c"}, {"y"},
                     {.name = "n", .attributes = {graph_attribute("then_branch", arm(0)), graph_attribute("else_branch", arm(1))}})},
      .inputs = {kX, value_info("rate", kInt64, {})},
      .outputs = {untyped("y")},
      .initializers = {int64s("k", {}, {16000})}};
  const auto read = [&](const ModelOptions& options) { return parse_onnx(model(graph_of(parts), 13), "m.onnx", options); };
  EXPECT_EQ(text_of_diagnostics(read({})),
            "m.onnx: node n (If): error: `y` is f32[2] in the then arm of `If` and f32[2, 1] in its else arm, and the condition is not "
            "known when "
            "the model is read; if it is the same in every run, give it with --constant rate=VALUE\n");
  const Graph known = read({.constants = {{"rate", "8000"}}});
  EXPECT_EQ(run_whole(known, {{"x", kSix}}), "[[2.0], [5.0]]");
}

}  // namespace
}  // namespace cleave
