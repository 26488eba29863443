// ONNX Runtime's operators of quantized values, and DequantizeLinear of constants, for what the cases with results of ONNX Runtime
// (tests/onnx/ort_cases) cannot say: the lowering, refused nodes, and operators for which ONNX Runtime has no kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/drop_dead.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_node.h"

namespace cleave {
namespace {

using namespace onnx_file;
using ::testing::HasSubstr;

constexpr int kBytes = 2, kSignedBytes = 3, kWords = 5, kNibbles = 22;
constexpr auto kDomain = "com.microsoft";

Message steps(std::string_view name, std::initializer_list<std::int64_t> shape, const std::vector<std::uint8_t>& values,
              int type = kBytes) {
  return raw_tensor(name, type, shape, values);
}
Message factor(std::string_view name, float value) {
  return floats(name, {}, {value});
}

// --- DequantizeLinear of constants -------------------------------------------------------------------------------------------------------

TEST(OnnxQuantized, ConstantsAreDequantizedWhenTheFileIsRead) {
  const OneNode blocks{.op = "DequantizeLinear",
                       .version = 21,
                       .operands = {steps("x", {3, 2}, {0x21, 0x43, 0xF8}, kNibbles), floats("s", {2, 2}, {1, 10, 100, 1000}),
                                    steps("z", {2, 2}, {0x10, 0x00}, kNibbles)},
                       .names = {"x", "s", "z"},
                       .attributes = {integer("axis", 0), integer("block_size", 2)}};
  EXPECT_EQ(operations(blocks), "");
  EXPECT_EQ(results(blocks), "[[1.0, 10.0], [3.0, 30.0], [-800.0, -1000.0]]");
  const OneNode columns{.op = "DequantizeLinear",
                        .version = 13,
                        .operands = {steps("x", {2, 2}, {1, 2, 3, 4}), floats("s", {2}, {0.5F, 2}), steps("z", {2}, {1, 1})},
                        .names = {"x", "s", "z"},
                        .attributes = {integer("axis", 1)}};
  EXPECT_EQ(operations(columns), "");
  EXPECT_EQ(results(columns), "[[0.0, 2.0], [1.0, 6.0]]");
  OneNode halves = columns;
  halves.version = 21;
  halves.operands[1] = raw_tensor<std::uint16_t>("s", 10, {2}, {0x3800, 0x4000});
  EXPECT_EQ(operations(halves), "") << "in f16";
  EXPECT_EQ(results(halves), "[[0.0, 2.0], [1.0, 6.0]]");
  const OneNode wrapping{
      .op = "DequantizeLinear",
      .version = 13,
      .operands = {raw_tensor<std::int32_t>("x", 6, {1}, {2147483647}), factor("s", 1), raw_tensor<std::int32_t>("z", 6, {}, {-1})},
      .names = {"x", "s", "z"}};
  EXPECT_EQ(results(wrapping), "[-2147483600.0]") << "differences of i32 wrap";
}

TEST(OnnxQuantized, WhatARunMayChangeIsDequantizedInTheRun) {
  const OneNode node{.op = "DequantizeLinear",
                     .version = 13,
                     .operands = {factor("s", 0.5F)},
                     .names = {"x", "s"},
                     .inputs = {value_info("x", kSignedBytes, {2})}};
  EXPECT_EQ(operations(node), "astype multiply");
}

// --- products of integers ----------------------------------------------------------------------------------------------------------------

/// Nodes of a file as its operations.
std::string operations_of(const GraphParts& parts) {
  const Graph graph = parse_onnx(model(graph_of(parts), 21), "m.onnx", {});
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics, {.color = false, .source = false});
  const Graph simple = drop_dead(graph);
  std::string names;
  for (const auto& each : simple.nodes)
    if (each.kind == NodeKind::operation) names += (names.empty() ? "" : " ") + std::string(each.op->name);
  return names;
}

/// A product of u8 and a weight of i8 with a scale for each output, a bias, perhaps a relu, and a requantization.
GraphParts dequantized_product(std::string_view op, std::initializer_list<std::int64_t> weight, bool relu, float bias_scale) {
  std::vector<Message> nodes = {node("DequantizeLinear", {"x", "xs", "xz"}, {"xf"}),
                                node("DequantizeLinear", {"w", "ws", "wz"}, {"wf"}, {.attributes = {integer("axis", 0)}}),
                                node("DequantizeLinear", {"b", "bs"}, {"bf"}, {.attributes = {integer("axis", 0)}}),
                                node(op, {"xf", "wf", "bf"}, {"p"},
                                     {.attributes = op == "Gemm" ? std::vector<Message>{integer("transB", 1)} : std::vector<Message>{}})};
  if (relu) nodes.push_back(node("Relu", {"p"}, {"r"}));
  nodes.push_back(node("QuantizeLinear", {relu ? "r" : "p", "ys", "yz"}, {"y"}));
  const std::initializer_list<std::int64_t> image = {1, 2, 3, 3}, row = {4, 2};
  return {nodes,
          {value_info("x", kBytes, op == "Gemm" ? row : image)},
          {untyped("y")},
          {factor("xs", 0.5F), steps("xz", {}, {3}), steps("w", weight, {1, 2, 3, 255}, kSignedBytes), floats("ws", {2}, {0.25F, 0.5F}),
           steps("wz", {2}, {0, 0}, kSignedBytes), raw_tensor<std::int32_t>("b", 6, {2}, {7, -9}),
           floats("bs", {2}, {0.125F * bias_scale, 0.25F * bias_scale}), factor("ys", 0.5F),
           steps("yz", {}, {static_cast<std::uint8_t>(relu ? 9 : 0)})}};
}

TEST(OnnxQuantized, DequantizedProductsAreProductsOfIntegers) {
  const std::string scales = "multiply divide ";  // of constants
  EXPECT_EQ(operations_of(dequantized_product("Conv", {2, 2, 1, 1}, false, 1)), scales + "quantized_conv");
  EXPECT_EQ(operations_of(dequantized_product("Conv", {2, 2, 1, 1}, true, 1)), scales + "quantized_conv maximum");
  EXPECT_THAT(operations_of(dequantized_product("Gemm", {2, 2}, false, 1)), HasSubstr("quantized_matmul"));
  const std::string other = operations_of(dequantized_product("Conv", {2, 2, 1, 1}, false, 2));
  EXPECT_THAT(other, HasSubstr("quantized_conv")) << "a bias of another scale is added in f32";
  EXPECT_THAT(other, HasSubstr("add"));
}

TEST(OnnxQuantized, OperatorsOfIntegersAreOneOperation) {
  const OneNode product{.op = "MatMulInteger",
                        .version = 10,
                        .operands = {steps("b", {2, 2}, {1, 255, 2, 254}, kSignedBytes), steps("z", {}, {2})},
                        .names = {"a", "b", "z"},
                        .inputs = {value_info("a", kBytes, {3, 2})}};
  EXPECT_EQ(operations(product), "quantized_matmul");
  const OneNode convolution{.op = "ConvInteger",
                            .version = 10,
                            .operands = {steps("w", {1, 1, 1, 1}, {255}, kSignedBytes), steps("z", {}, {2})},
                            .names = {"x", "w", "z"},
                            .inputs = {value_info("x", kBytes, {1, 1, 2, 2})}};
  EXPECT_EQ(operations(convolution), "quantized_conv");
}

// --- refused nodes -----------------------------------------------------------------------------------------------------------------------

TEST(OnnxQuantized, NamesTheScaleOrZeroPointThatDoesNotFit) {
  OneNode node{.op = "DequantizeLinear",
               .version = 21,
               .operands = {steps("x", {2, 3}, {1, 2, 3, 4, 5, 6}), floats("s", {2}, {1, 2}), steps("z", {2}, {0, 0})},
               .names = {"x", "s", "z"}};
  EXPECT_EQ(said(node),
            "m.onnx: node n (DequantizeLinear): error: `DequantizeLinear`: `s` (f32[2]) must have one element, or the 3 of axis 1 of "
            "`x` (u8[2, 3])\n");
  node.attributes = {integer("axis", 0)};
  EXPECT_EQ(said(node), "");
  node.operands[2] = steps("z", {2}, {0, 0}, kSignedBytes);
  EXPECT_THAT(said(node), HasSubstr("`DequantizeLinear`: `z` (i8[2]) must have the element type of `x` (u8[2, 3])\n"));
  node.operands[2] = steps("z", {1}, {0});
  EXPECT_THAT(said(node), HasSubstr("`DequantizeLinear`: `z` (u8[1]) must have the shape of the scale, `s` (f32[2])\n"));
  node.operands[2] = steps("z", {2}, {0}, kNibbles);
  EXPECT_THAT(said(node), HasSubstr("`DequantizeLinear`: `z` (int4[2]) must have the element type of `x` (u8[2, 3])\n"));
  node.operands[1] = int64s("s", {2}, {1, 2});
  EXPECT_THAT(said(node), HasSubstr("`DequantizeLinear`: `s` (i64[2]) must be a scale of floating point\n"));
  node.operands[1] = floats("s", {2}, {1, 2});
  node.attributes = {integer("block_size", -2)};
  EXPECT_THAT(said(node), HasSubstr("`DequantizeLinear`: `block_size` is -2; it must be 0 or more\n"));
  const OneNode floating{.op = "DequantizeLinear", .version = 21, .operands = {floats("x", {1}, {1}), factor("s", 1)}, .names = {"x", "s"}};
  EXPECT_THAT(said(floating), HasSubstr("`x` (f32[1]) must be quantized: an integer of at most 32 bits, or a narrow type\n"));
  const OneNode types{.op = "QuantizeLinear",
                      .version = 21,
                      .operands = {floats("x", {1}, {1}), factor("s", 1), steps("z", {}, {0})},
                      .names = {"x", "s", "z"},
                      .attributes = {integer("output_dtype", kNibbles)}};
  EXPECT_THAT(said(types), HasSubstr("`QuantizeLinear`: `z` (u8[]) must have the element type of `output_dtype`\n"));
}

TEST(OnnxQuantized, NamesTheOperandOfANodeOfOnnxRuntime) {
  OneNode add{.op = "QLinearAdd",
              .operands = {steps("a", {2}, {1, 2}), factor("as", 1), steps("az", {}, {0}), steps("b", {2}, {1, 2}), factor("bs", 1),
                           steps("bz", {}, {0}), factor("cs", 1), steps("cz", {}, {0})},
              .names = {"a", "as", "az", "b", "bs", "bz", "cs", "cz"},
              .domain = kDomain};
  EXPECT_EQ(results(add), "[2, 4]");
  OneNode wrong = add;
  wrong.operands[4] = floats("bs", {2}, {1, 2});
  EXPECT_EQ(said(wrong),
            "m.onnx: node n (QLinearAdd): error: `QLinearAdd`: `bs` (f32[2]) must be a scale: one element of floating point\n");
  wrong = add;
  wrong.operands[2] = steps("az", {}, {0}, kSignedBytes);
  EXPECT_THAT(said(wrong), HasSubstr("`QLinearAdd`: `az` (i8[]) must be a zero point: one element of the type of `a` (u8[2])\n"));
  wrong = add;
  wrong.operands[0] = floats("a", {2}, {1, 2});
  EXPECT_THAT(said(wrong), HasSubstr("`QLinearAdd`: `a` (f32[2]) must be of i8 or u8\n"));
  wrong = add;
  wrong.operands[3] = steps("b", {2}, {1, 2}, kSignedBytes);
  wrong.operands[5] = steps("bz", {}, {0}, kSignedBytes);
  EXPECT_THAT(said(wrong), HasSubstr("`QLinearAdd` of `a` (u8[2]) and `b` (i8[2]), which must be of one type\n"));
  const OneNode product{.op = "DynamicQuantizeMatMul",
                        .operands = {floats("a", {1, 2}, {1, 2}), steps("b", {2, 3}, {1, 2, 3, 4, 5, 6}), floats("bs", {2}, {1, 2})},
                        .names = {"a", "b", "bs"},
                        .domain = kDomain};
  EXPECT_THAT(
      said(product),
      HasSubstr("`DynamicQuantizeMatMul`: `bs` (f32[2]) must be a scale with one element, or with the 3 columns of `b` (u8[2, 3])\n"));
}

// --- results -----------------------------------------------------------------------------------------------------------------------------

TEST(OnnxQuantized, MeansAreQuantizedAnew) {
  const OneNode mean{.op = "QLinearReduceMean",
                     .operands = {steps("x", {2, 2}, {10, 12, 14, 20}), factor("xs", 0.5F), steps("xz", {}, {10}), factor("ys", 0.25F),
                                  steps("yz", {}, {1})},
                     .names = {"x", "xs", "xz", "ys", "yz"},
                     .attributes = {integers("axes", {1}), integer("keepdims", 0)},
                     .domain = kDomain};
  EXPECT_EQ(results(mean), "[3, 15]");
}

TEST(OnnxQuantized, ProductsOf16BitsAreSummedIn32) {
  const OneNode product{
      .op = "MatMulInteger16",
      .operands = {raw_tensor<std::int16_t>("a", kWords, {1, 2}, {-30000, 2}), raw_tensor<std::int16_t>("b", kWords, {2, 1}, {30000, 1})},
      .names = {"a", "b"},
      .domain = kDomain};
  EXPECT_EQ(results(product), "[[-899999998]]");
}

}  // namespace
}  // namespace cleave
