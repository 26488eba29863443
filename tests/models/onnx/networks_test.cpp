// ONNX operators of neural networks, for cases that the package's conformance tests do not cover: older versions, quantization
// granularities, random numbers, the lowering of a node, and refused nodes.
#include <gtest/gtest.h>

#include <limits>

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
using testing::text_of_diagnostics;

constexpr int kUint8 = 2, kInt8 = 3, kInt32Elements = 6;

Message bytes(std::string_view name, int type, std::initializer_list<std::int64_t> shape, const std::vector<std::uint8_t>& values) {
  return raw_tensor(name, type, shape, values);
}
Message value(std::string_view name, float number) {
  return floats(name, {}, {number});
}

struct NetworkNode {
  std::string_view op;
  std::int64_t version = 18;
  std::vector<Message> operands, attributes, inputs;  ///< operands are initializers; inputs have no values
  std::vector<std::string_view> names = {"x"};
  std::vector<std::string_view> results = {"y"};
};

Graph read_node(const NetworkNode& of) {
  std::vector<Message> outputs;
  for (const std::string_view name : of.results) outputs.push_back(untyped(name));
  const GraphParts parts{{node(of.op, of.names, of.results, {.name = "n", .attributes = of.attributes})}, of.inputs, outputs, of.operands};
  Graph graph = parse_onnx(model(graph_of(parts), of.version), "m.onnx", {});
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

std::string said_of_node(const NetworkNode& of) {
  return text_of_diagnostics(read_node(of));
}

std::vector<Array> results_of_node(const NetworkNode& of) {
  const Graph graph = read_node(of);
  if (!graph.ok()) return ADD_FAILURE() << text_of_diagnostics(graph), std::vector<Array>(of.results.size());
  const Result<RunResult> run = runtime::run_reference(graph, {});
  if (!run) return ADD_FAILURE() << run.error().message, std::vector<Array>(of.results.size());
  std::vector<Array> arrays;
  for (const auto& [name, array] : run->outputs) arrays.push_back(array);
  return arrays;
}

std::string result(const NetworkNode& of) {
  return to_string(results_of_node(of)[0]);
}

/// How many times an operation occurs in the part of the program that its outputs need.
int count(const NetworkNode& of, std::string_view op) {
  const Graph graph = read_node(of);
  int found = 0;
  for (const auto& each : graph.nodes) found += each.kind == NodeKind::operation && each.op->name == op ? 1 : 0;
  return found;
}

// --- older versions ----------------------------------------------------------------------------------------------------------------------

TEST(OnnxNetworks, SoftmaxBeforeVersion13IsOverAllAxesFromOneOn) {
  NetworkNode softmax{.op = "Softmax", .version = 11, .operands = {floats("x", {1, 2, 2}, {0, 0, 0, 0})}};
  EXPECT_EQ(result(softmax), "[[[0.25, 0.25], [0.25, 0.25]]]");
  softmax.version = 13;
  EXPECT_EQ(result(softmax), "[[[0.5, 0.5], [0.5, 0.5]]]");
  const NetworkNode hardmax{.op = "Hardmax", .version = 11, .operands = {floats("x", {1, 2, 2}, {0, 3, 1, 2})}};
  EXPECT_EQ(result(hardmax), "[[[0.0, 1.0], [0.0, 0.0]]]");
}

TEST(OnnxNetworks, GroupNormalizationBeforeVersion21ScalesByGroup) {
  const NetworkNode node{.op = "GroupNormalization",
                         .version = 18,
                         .operands = {floats("x", {1, 4, 1}, {-1, 1, -1, 1}), floats("s", {2}, {1, 10}), floats("b", {2}, {0, 100})},
                         .attributes = {integer("num_groups", 2), number("epsilon", 0)},
                         .names = {"x", "s", "b"}};
  EXPECT_EQ(result(node), "[[[-1.0], [1.0], [90.0], [110.0]]]");
}

TEST(OnnxNetworks, BatchNormalizationOfVersion9TrainsWhereItGivesStatistics) {
  NetworkNode node{.op = "BatchNormalization",
                   .version = 9,
                   .operands = {floats("x", {2, 1}, {1, 3}), floats("s", {1}, {1}), floats("b", {1}, {0}), floats("m", {1}, {10}),
                                floats("v", {1}, {4})},
                   .attributes = {number("epsilon", 0), number("momentum", 0.5)},
                   .names = {"x", "s", "b", "m", "v"},
                   .results = {"y", "mean", "variance", "saved_mean", "saved_variance"}};
  const std::vector<Array> all = results_of_node(node);
  EXPECT_EQ(to_string(all[0]) + to_string(all[1]) + to_string(all[2]) + to_string(all[3]) + to_string(all[4]),
            "[[-1.0], [1.0]][6.0][2.5][2.0][1.0]");
  node.results = {"y"};
  EXPECT_EQ(result(node), "[[-4.5], [-3.5]]");
  node.version = 7;
  node.attributes.push_back(integer("spatial", 0));
  EXPECT_NE(said_of_node(node).find("`BatchNormalization` with `spatial` = 0 is not supported"), std::string::npos);
}

TEST(OnnxNetworks, SlopesBeforeVersion7LieAlongTheChannels) {
  NetworkNode prelu{
      .op = "PRelu", .version = 6, .operands = {floats("x", {1, 2, 2}, {-1, -1, -1, -1}), floats("s", {2}, {2, 3})}, .names = {"x", "s"}};
  EXPECT_EQ(result(prelu), "[[[-2.0, -2.0], [-3.0, -3.0]]]");
  prelu.version = 16;
  EXPECT_EQ(result(prelu), "[[[-2.0, -3.0], [-2.0, -3.0]]]");
  prelu.operands[1] = counting("s", {3, 2, 2});
  EXPECT_EQ(said_of_node(prelu), "m.onnx: node n (PRelu): error: `PRelu`: the slope f32[3, 2, 2] does not broadcast to f32[1, 2, 2]\n");
}

// --- quantization ------------------------------------------------------------------------------------------------------------------------

TEST(OnnxNetworks, QuantizesByBlocksOfWhichTheLastIsShort) {
  NetworkNode node{
      .op = "QuantizeLinear",
      .version = 21,
      .operands = {floats("x", {1, 5}, {2, 4, 9, 10, -7}), floats("s", {1, 3}, {1, 2, 7}), bytes("z", kInt8, {1, 3}, {1, 0, 255})},
      .attributes = {integer("block_size", 2)},
      .names = {"x", "s", "z"}};
  EXPECT_EQ(result(node), "[[3, 5, 4, 5, -2]]");
  node = {
      .op = "DequantizeLinear",
      .version = 21,
      .operands = {bytes("x", kInt8, {1, 5}, {3, 5, 4, 5, 254}), floats("s", {1, 3}, {1, 2, 7}), bytes("z", kInt8, {1, 3}, {1, 0, 255})},
      .attributes = {integer("block_size", 2)},
      .names = {"x", "s", "z"}};
  EXPECT_EQ(result(node), "[[2.0, 4.0, 8.0, 10.0, -7.0]]");
  node.attributes = {integer("block_size", 3)};
  EXPECT_NE(
      said_of_node(node).find("`DequantizeLinear`: `s` (f32[1, 3]) must have one element for each 3 of axis 1 of `x` (i8[1, 5]): [1, 2]"),
      std::string::npos);
}

TEST(OnnxNetworks, OneElementIsAScaleForAll) {
  const NetworkNode node{
      .op = "QuantizeLinear", .version = 13, .operands = {floats("x", {1, 2}, {2, 4}), floats("s", {1}, {2})}, .names = {"x", "s"}};
  EXPECT_EQ(result(node), "[[1, 2]]");
  NetworkNode without_types = node;
  without_types.version = 23;
  without_types.attributes = {integer("output_dtype", 0), integer("precision", 0)};
  EXPECT_EQ(result(without_types), "[[1, 2]]");
}

TEST(OnnxNetworks, SumsOfIntegerConvolutionsAreExact) {
  const std::int64_t terms = 701;  // each 255 * 255: the sum is odd and not representable in f32
  const Message x = bytes("x", kUint8, {1, 1, terms}, std::vector<std::uint8_t>(static_cast<std::size_t>(terms), 255));
  const Message w = bytes("w", kUint8, {1, 1, terms}, std::vector<std::uint8_t>(static_cast<std::size_t>(terms), 255));
  EXPECT_EQ(result({.op = "ConvInteger", .version = 10, .operands = {x, w}, .names = {"x", "w"}}),
            "[[[" + std::to_string(terms * 255 * 255) + "]]]");
}

TEST(OnnxNetworks, QuantizedConvolutionsScaleByChannelAndTakeABias) {
  const NetworkNode node{
      .op = "QLinearConv",
      .version = 10,
      .operands = {bytes("x", kUint8, {1, 1, 2}, {11, 12}), value("xs", 1), bytes("xz", kUint8, {}, {10}),
                   bytes("w", kInt8, {2, 1, 1}, {3, 5}), floats("ws", {2}, {1, 2}), bytes("wz", kInt8, {2}, {1, 2}), value("ys", 1),
                   bytes("yz", kUint8, {}, {100}), raw_tensor<std::int32_t>("b", kInt32Elements, {2}, {0, 10})},
      .names = {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}};
  EXPECT_EQ(result(node), "[[[102, 104], [126, 132]]]");
}

TEST(OnnxNetworks, QuantizedProductsScaleByRowAndColumn) {
  const NetworkNode node{.op = "QLinearMatMul",
                         .version = 10,
                         .operands = {bytes("a", kUint8, {2, 1}, {2, 3}), floats("as", {2}, {1, 10}), bytes("az", kUint8, {2}, {1, 1}),
                                      bytes("b", kUint8, {1, 2}, {1, 2}), floats("bs", {2}, {1, 2}), bytes("bz", kUint8, {2}, {0, 0}),
                                      value("ys", 1), bytes("yz", kUint8, {}, {0})},
                         .names = {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}};
  EXPECT_EQ(result(node), "[[1, 4], [20, 80]]");
}

// --- random numbers ----------------------------------------------------------------------------------------------------------------------

TEST(OnnxNetworks, RandomNumbersFollowSeedsAndNames) {
  const Message shape = integers("shape", {1000});
  NetworkNode normal{.op = "RandomNormal", .attributes = {shape, number("mean", 5), number("scale", 2), number("seed", 7.5F)}, .names = {}};
  const Array first = results_of_node(normal)[0];
  double sum = 0;
  for (std::int64_t i = 0; i < first.size(); ++i) sum += first.at(i);
  EXPECT_NEAR(sum / 1000, 5, 0.3);
  normal.results = {"other"};
  EXPECT_EQ(result(normal), to_string(first));
  normal.attributes = {shape};
  const std::string by_name = result(normal);
  normal.results = {"y"};
  EXPECT_NE(result(normal), by_name);
}

TEST(OnnxNetworks, MultinomialDrawsClassesByTheirLogarithms) {
  const NetworkNode node{.op = "Multinomial",
                         .operands = {floats("x", {2, 3}, {-50, 0, -50, 0, -50, 0})},
                         .attributes = {integer("sample_size", 100), number("seed", 1)}};
  const Array drawn = results_of_node(node)[0];
  ASSERT_EQ(drawn.type(), (TensorType{DType::i32, {2, 100}}));
  int last = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(drawn.at(i), 1);
    EXPECT_NE(drawn.at(100 + i), 1);
    last += drawn.at(100 + i) == 2 ? 1 : 0;
  }
  EXPECT_NEAR(last, 50, 25);
}

TEST(OnnxNetworks, DropoutMustKnowWhetherItDrops) {
  const NetworkNode node{
      .op = "Dropout", .operands = {value("x", 1), value("r", 0.5)}, .inputs = {value_info("t", kBool, {})}, .names = {"x", "r", "t"}};
  EXPECT_EQ(said_of_node(node),
            "m.onnx: node n (Dropout): error: `Dropout` needs `t` to be known when the model is read, as whether it drops anything depends "
            "on it; "
            "if it is the same in every run, give it with --constant t=VALUE\n");
}

// --- the graph that each ONNX node becomes
// --------------------------------------------------------------------------------------------------------------

TEST(OnnxNetworks, TransposedOperandsGoIntoTheProduct) {
  const NetworkNode gemm{.op = "Gemm",
                         .operands = {counting("b", {3, 2}), counting("c", {3})},
                         .attributes = {integer("transB", 1)},
                         .inputs = {value_info("a", kFloat, {4, 2})},
                         .names = {"a", "b", "c"}};
  EXPECT_EQ(count(gemm, "transpose"), 1);
  EXPECT_EQ(count(gemm, "multiply"), 0);
  EXPECT_EQ(count(gemm, "add"), 1);
}

NetworkNode attention(std::int64_t queries, std::int64_t keys) {
  return {.op = "Attention",
          .version = 25,
          .inputs = {value_info("q", kFloat, {2, 4, queries, 8}), value_info("k", kFloat, {2, 2, keys, 8}),
                     value_info("v", kFloat, {2, 2, keys, 8})},
          .names = {"q", "k", "v"}};
}

TEST(OnnxNetworks, AttentionIsOneOperationWhereNothingIsAskedForInside) {
  NetworkNode node = attention(3, 3);
  node.attributes = {integer("is_causal", 1)};
  EXPECT_EQ(count(node, "attention"), 1);
  EXPECT_EQ(count(node, "less_equal"), 0);  // by the operation's own rule
  EXPECT_EQ(count(node, "matmul"), 0);
  node = attention(3, 5);  // the first query sees the first key only, but by the operation's rule the last query sees all keys
  node.attributes = {integer("is_causal", 1)};
  EXPECT_EQ(count(node, "attention"), 1);
  EXPECT_EQ(count(node, "less_equal"), 1);
  node.attributes = {number("softcap", 5)};
  EXPECT_EQ(count(node, "attention"), 0);
  EXPECT_EQ(count(node, "matmul"), 2);
}

/// Attention in separate operations, as PyTorch's exporter writes it: both operands scaled, the keys transposed between reshapes, NaN
/// replaced.
Graph attention_in_parts(bool guarded, const Message& mask, const ModelOptions& options = {}) {
  std::vector<Message> nodes = {node("Reshape", {"k", "flat"}, {"k3"}),
                                node("Transpose", {"k3"}, {"kt3"}, {.attributes = {integers("perm", {0, 2, 1})}}),
                                node("Reshape", {"kt3", "whole"}, {"kt"}),
                                node("Mul", {"q", "half"}, {"qs"}),
                                node("Mul", {"kt", "half"}, {"ks"}),
                                node("MatMul", {"qs", "ks"}, {"product"}),
                                node("Add", {"product", "m"}, {"scores"}),
                                node("Softmax", {"scores"}, {"weights"}, {.attributes = {integer("axis", -1)}}),
                                node("IsNaN", {"weights"}, {"nan"}),
                                node("Where", {"nan", "zero", "weights"}, {"clean"}),
                                node("MatMul", {guarded ? "clean" : "weights", "v"}, {"y"})};
  const GraphParts parts{.nodes = std::move(nodes),
                         .inputs = {value_info("q", kFloat, {1, 2, 2, 2}), value_info("k", kFloat, {1, 2, 3, 2}), mask},
                         .outputs = {untyped("y")},
                         .initializers = {int64s("flat", {3}, {-1, 3, 2}), int64s("whole", {4}, {1, 2, 2, 3}), floats("half", {1}, {0.5}),
                                          value("zero", 0), counting("v", {1, 2, 3, 1})}};
  return parse_onnx(model(graph_of(parts), 20), "m.onnx", options);
}

TEST(OnnxNetworks, AttentionInPartsBecomesOneOperation) {
  const Message mask = value_info("m", kFloat, {2, 3});
  const Graph graph = attention_in_parts(true, mask);
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  const Node& result = graph.producer(graph.outputs[0].value);
  ASSERT_EQ(result.op->name, "attention");
  EXPECT_EQ(result.attributes.get<double>("scale"), 0.25);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const auto run = runtime::run_reference(graph, {.inputs = {{"q", Array::of<float>({1, 2, 2, 2}, {0, 0, 0, 0, 0, 0, 4, 0})},
                                                             {"k", Array::of<float>({1, 2, 3, 2}, {1, 2, 3, 4, 5, 6, 0, 9, 100, 9, 0, 9})},
                                                             {"m", Array::of<float>({2, 3}, {0, 0, kNever, 0, 0, 0})}}});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(to_string(run->outputs[0].second), "[[[[1.5], [2.0]], [[4.5], [5.0]]]]");
  // Without the guard, a query that sees no key gives NaN, but `attention` gives zeros: if the mask may be such a one, it is not fused.
  const auto unguarded = [&](const ModelOptions& options) {
    const Graph made = attention_in_parts(false, mask, options);
    return made.ok() ? made.producer(made.outputs[0].value).op->name : to_text(made.diagnostics, {.color = false, .source = false});
  };
  EXPECT_EQ(unguarded({}), "matmul");
  EXPECT_EQ(unguarded({.constants = {{"m", Array::of<float>({2, 3}, {0, 0, kNever, kNever, 0, 0})}}}), "attention");
  EXPECT_EQ(unguarded({.constants = {{"m", Array::of<float>({2, 3}, {0, 0, 0, kNever, kNever, kNever})}}}), "matmul");
}

TEST(OnnxNetworks, KeysTransposedTogetherWithTheirHeadsAreFoundToo) {
  const GraphParts parts{
      .nodes = {node("Transpose", {"k"}, {"kt"}, {.attributes = {integers("perm", {0, 2, 3, 1})}}), node("MatMul", {"q", "kt"}, {"scores"}),
                node("Softmax", {"scores"}, {"weights"}), node("MatMul", {"weights", "v"}, {"y"})},
      .inputs = {value_info("q", kFloat, {1, 2, 1, 2}), value_info("k", kFloat, {1, 3, 2, 2})},
      .outputs = {untyped("y")},
      .initializers = {counting("v", {1, 2, 3, 1})}};
  const Graph graph = parse_onnx(model(graph_of(parts), 20), "m.onnx", {});
  ASSERT_TRUE(graph.ok()) << text_of_diagnostics(graph);
  EXPECT_EQ(graph.producer(graph.outputs[0].value).op->name, "attention");
  // The first head's query matches the third key, the second head's query the second key.
  const auto run = runtime::run_reference(graph, {.inputs = {{"q", Array::of<float>({1, 2, 1, 2}, {100, 0, 0, 100})},
                                                             {"k", Array::of<float>({1, 3, 2, 2}, {0, 9, 9, 0, 0, 9, 9, 8, 8, 9, 9, 0})}}});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(to_string(run->outputs[0].second), "[[[[3.0]], [[5.0]]]]");
}

TEST(OnnxNetworks, AttentionSaysWhatDoesNotFit) {
  NetworkNode node = attention(3, 3);
  node.inputs[1] = value_info("k", kFloat, {2, 3, 3, 8});
  EXPECT_EQ(said_of_node(node),
            "m.onnx: node n (Attention): error: `Attention` of f32[2, 4, 3, 8], f32[2, 3, 3, 8] and f32[2, 2, 3, 8]: they have no heads "
            "in common\n");
  node.inputs = {value_info("q", kFloat, {2, 3, 10}), value_info("k", kFloat, {2, 3, 10}), value_info("v", kFloat, {2, 3, 10})};
  node.attributes = {integer("q_num_heads", 3), integer("kv_num_heads", 2)};
  EXPECT_EQ(
      said_of_node(node),
      "m.onnx: node n (Attention): error: `Attention` of f32[2, 3, 10] needs `q_num_heads`, the heads that its last axis divides into\n");
}

TEST(OnnxNetworks, CachesAreWrittenWhereTheyLieAndRoundAboutByIndex) {
  NetworkNode node{.op = "TensorScatter",
                   .version = 24,
                   .operands = {floats("x", {2, 3, 1}, {0, 0, 0, 0, 0, 0}), counting("u", {2, 2, 1}), int64s("at", {2}, {0, 1})},
                   .names = {"x", "u", "at"}};
  EXPECT_EQ(result(node), "[[[1.0], [2.0], [0.0]], [[0.0], [3.0], [4.0]]]");
  EXPECT_EQ(count(node, "dynamic_update_slice"), 2);
  node.attributes = {text("mode", "circular")};
  node.operands[2] = int64s("at", {2}, {2, 5});
  EXPECT_EQ(result(node), "[[[2.0], [0.0], [1.0]], [[4.0], [0.0], [3.0]]]");
}

// --- operators that ONNX gave up
// -----------------------------------------------------------------------------------------------------------

TEST(OnnxLegacy, EmbeddingBagsSumRowsFromOffsetToOffset) {
  const auto bags = [](int mode) {
    return result({.op = "ATen",
                   .version = 9,
                   .operands = {counting("t", {3, 2}), int64s("i", {4}, {0, 2, 1, 1}), int64s("o", {3}, {0, 3, 3})},
                   .attributes = {text("operator", "embedding_bag"), integer("mode", mode)},
                   .names = {"t", "i", "o"}});
  };
  EXPECT_EQ(bags(0), "[[9.0, 12.0], [0.0, 0.0], [3.0, 4.0]]");
  EXPECT_EQ(bags(1), "[[3.0, 4.0], [0.0, 0.0], [3.0, 4.0]]");
  EXPECT_EQ(said_of_node({.op = "ATen", .version = 9, .operands = {counting("x", {2})}, .attributes = {text("operator", "cdist")}}),
            "m.onnx: node n (ATen): error: `ATen` of PyTorch's operator `cdist`; export the model again, without the fallback to "
            "ATen: is not "
            "supported\n");
}

TEST(OnnxLegacy, FillsTakeTheirShapeFromAttributesOrTheOperand) {
  EXPECT_EQ(result({.op = "ConstantFill", .version = 7, .attributes = {integers("shape", {1, 2}), number("value", 1.5F)}, .names = {}}),
            "[[1.5, 1.5]]");
  EXPECT_EQ(result({.op = "ConstantFill",
                    .version = 7,
                    .operands = {int64s("x", {2}, {1, 2})},
                    .attributes = {integer("input_as_shape", 1), integer("dtype", kInt32Elements)}}),
            "[[0, 0]]");
  const Message values = Message().text(1, "values").fixed32(7, 2).fixed32(7, 3).varint(20, 6);
  EXPECT_EQ(result({.op = "GivenTensorFill", .version = 7, .attributes = {integers("shape", {2, 1}), values}, .names = {}}),
            "[[2.0], [3.0]]");
}

TEST(OnnxLegacy, ScaleAndSpatialBN) {
  EXPECT_EQ(result({.op = "Scale", .version = 7, .operands = {counting("x", {2})}, .attributes = {number("scale", 0.5F)}}), "[0.5, 1.0]");
  EXPECT_EQ(result({.op = "SpatialBN",
                    .version = 6,
                    .operands = {counting("x", {1, 2}), floats("s", {2}, {2, 2}), floats("b", {2}, {1, 0}), floats("m", {2}, {1, 1}),
                                 floats("v", {2}, {1, 1})},
                    .attributes = {integer("is_test", 1), number("epsilon", 0)},
                    .names = {"x", "s", "b", "m", "v"}}),
            "[[1.0, 2.0]]");
}

}  // namespace
}  // namespace cleave
