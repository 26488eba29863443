// ONNX convolutions, pools, images, recurrent networks and signals, for cases that the package's conformance tests do not cover: the
// lowering of a node, older versions, sequences of several lengths, and refused nodes.
#include <limits>

#include "tests/support/onnx_node.h"

namespace cleave {
namespace {

using namespace onnx_file;

constexpr int kInt32 = 6;

std::string mistake_of(const OneNode& node) {
  const std::string text = said(node), begin = "m.onnx: node n (" + std::string(node.op) + "): error: ";
  return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

// --- convolutions ------------------------------------------------------------------------------------------------------------------------

TEST(OnnxSignal, ConvolutionsAndPoolsAreOneOperation) {
  const OneNode conv{"Conv",
                     11,
                     {counting("x", {1, 2, 5, 5}), counting("w", {3, 2, 3, 3}), counting("b", {3})},
                     {"x", "w", "b"},
                     {integers("kernel_shape", {3, 3}), integers("pads", {1, 1, 1, 1}), integers("strides", {2, 2}), integer("group", 1)}};
  EXPECT_EQ(operations(conv), "conv");
  OneNode pool{"MaxPool", 12, {counting("x", {1, 1, 4, 4})}, {"x"}, {integers("kernel_shape", {3, 3}), integers("strides", {2, 2})}};
  EXPECT_EQ(operations(pool), "max_pool");
  pool.op = "AveragePool";
  EXPECT_EQ(operations(pool), "avg_pool");
  pool.attributes = {integers("kernel_shape", {1, 1}), integers("strides", {1, 1})};
  EXPECT_EQ(operations(pool), "");
}

TEST(OnnxSignal, ConvolutionsSayWhereTheWindowIsNotTheWeights) {
  const OneNode conv{
      "Conv", 11, {counting("x", {1, 1, 5, 5}), counting("w", {1, 1, 3, 3})}, {"x", "w"}, {integers("kernel_shape", {3, 1})}};
  EXPECT_EQ(mistake_of(conv), "`Conv`: `kernel_shape` is [3, 1], and the weight is f32[1, 1, 3, 3]\n");
}

TEST(OnnxSignal, TransposedConvolutionsReachTheWantedShape) {
  OneNode node{"ConvTranspose",
               11,
               {counting("x", {1, 1, 2}), floats("w", {1, 1, 2}, {1, 1})},
               {"x", "w"},
               {integers("strides", {2}), integers("output_shape", {1, 1, 5})}};
  EXPECT_EQ(results(node), "[[[1.0, 1.0, 2.0, 2.0, 0.0]]]");
  node.attributes[1] = integers("output_shape", {3});
  EXPECT_EQ(results(node), "[[[1.0, 2.0, 2.0]]]");
  node.attributes.push_back(text("auto_pad", "SAME_UPPER"));
  EXPECT_EQ(results(node), "[[[1.0, 1.0, 2.0]]]");
  node.attributes[1] = integers("output_shape", {3, 3});
  EXPECT_EQ(mistake_of(node), "`ConvTranspose`: `output_shape` has 2 numbers for 1 spatial axes\n");
}

TEST(OnnxSignal, BlocksThatAreNoneOfTheImageAreRefused) {
  const OneNode node{"Col2Im", 18, {counting("x", {1, 4, 3}), int64s("i", {2}, {3, 3}), int64s("k", {2}, {2, 2})}, {"x", "i", "k"}};
  EXPECT_EQ(mistake_of(node), "`Col2Im`: f32[1, 4, 3] are not the blocks [2, 2] of an image [3, 3]\n");
}

// --- pools -------------------------------------------------------------------------------------------------------------------------------

TEST(OnnxSignal, PlacesOfTheLargestAreCountedByRowsOrByColumns) {
  OneNode node{"MaxPool", 12, {floats("x", {2, 1, 2, 3}, {0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 8, 0})}, {"x"}, {integers("kernel_shape", {2, 3})}};
  node.results = {"y", "i"};
  EXPECT_EQ(results(node), "[[[[9.0]]], [[[8.0]]]][[[[2]]], [[[10]]]]");
  node.attributes.push_back(integer("storage_order", 1));
  EXPECT_EQ(results(node), "[[[[9.0]]], [[[8.0]]]][[[[4]]], [[[9]]]]");
  const float least = -std::numeric_limits<float>::infinity();
  node = {"MaxPool", 12, {floats("x", {1, 1, 2}, {least, least})}, {"x"}, {integers("kernel_shape", {2}), integers("pads", {1, 0})}};
  node.results = {"y", "i"};
  EXPECT_EQ(results(node), "[[[-inf, -inf]]][[[0, 0]]]");  // never one of the padding
}

TEST(OnnxSignal, WayBackFromAPoolIsRefusedToLessThanItsWindows) {
  const OneNode node{"MaxUnpool",
                     11,
                     {counting("x", {1, 1, 2}), int64s("i", {1, 1, 2}, {0, 3}), int64s("s", {3}, {1, 1, 3})},
                     {"x", "i", "s"},
                     {integers("kernel_shape", {2}), integers("strides", {2})}};
  EXPECT_EQ(mistake_of(node), "`MaxUnpool` to [1, 1, 3], where its windows give [1, 1, 4], is not supported\n");
}

TEST(OnnxSignal, RegionsHaveTheirLargestElementsOrNothing) {
  const OneNode node{"MaxRoiPool",
                     1,
                     {counting("x", {1, 1, 4, 4}), floats("r", {2, 5}, {0, 0, 0, 3, 3, 0, 9, 9, 12, 12})},
                     {"x", "r"},
                     {integers("pooled_shape", {2, 2})}};
  EXPECT_EQ(results(node), "[[[[6.0, 8.0], [14.0, 16.0]]], [[[0.0, 0.0], [0.0, 0.0]]]]");
}

TEST(OnnxSignal, NormsOfWindowsSumWhatReachesOverTheEnd) {
  OneNode node{"LpPool", 18, {counting("x", {1, 1, 3})}, {"x"}, {integers("kernel_shape", {2}), integers("strides", {2}), integer("p", 1)}};
  node.attributes.push_back(integer("ceil_mode", 1));
  EXPECT_EQ(results(node), "[[[3.0, 3.0]]]");
  EXPECT_EQ(results({"GlobalLpPool", 1, {floats("x", {1, 1, 2}, {3, -4})}, {"x"}, {number("p", 1)}}), "[[[7.0]]]");
}

// --- images ------------------------------------------------------------------------------------------------------------------------------

TEST(OnnxSignal, OldVersionsOfResizingAgree) {
  const std::string twice = "[[[[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0]]]]";
  const Message x = counting("x", {1, 1, 2, 2}), scales = floats("s", {4}, {1, 1, 1, 2});
  EXPECT_EQ(results({"Resize", 10, {x, scales}, {"x", "s"}}), twice);
  EXPECT_EQ(results({"Upsample", 9, {x, scales}, {"x", "s"}}), twice);
  EXPECT_EQ(results({"Upsample", 7, {x}, {"x"}, {numbers("scales", {1, 1, 1, 2})}}), twice);
  EXPECT_EQ(results({"Upsample", 1, {x}, {"x"}, {number("height_scale", 1), number("width_scale", 2)}}), twice);
  EXPECT_EQ(operations({"Resize", 10, {x, scales}, {"x", "s"}}), "repeat");
  EXPECT_EQ(results({"Resize", 10, {counting("x", {2, 4}), floats("s", {2}, {1.5, 0.6})}, {"x", "s"}}),
            "[[1.0, 3.0], [1.0, 3.0], [5.0, 7.0]]");
  EXPECT_EQ(operations({"Resize", 10, {x, floats("s", {4}, {1, 1, 1, 1})}, {"x", "s"}}), "");
}

TEST(OnnxSignal, IntegersBetweenOthersAreRounded) {
  const OneNode node{
      "Resize", 19, {raw_tensor<std::int32_t>("x", kInt32, {2}, {0, 10}), floats("s", {1}, {2})}, {"x", "", "s"}, {text("mode", "linear")}};
  EXPECT_EQ(results(node), "[0, 2, 8, 10]");  // 0, 2.5, 7.5, 10
}

TEST(OnnxSignal, ResizingAsksForItsScales) {
  OneNode node{"Resize", 13, {}, {"x", "", "s"}, {}, {"y"}, {value_info("x", kFloat, {1, 1, 2, 2}), value_info("s", kFloat, {4})}};
  EXPECT_EQ(mistake_of(node),
            "`Resize` needs `s` to be known when the model is read, as the shape of its result depends on it; if it is the same in every "
            "run, give it with --constant s=VALUE\n");
  node.names = {"x", ""};
  EXPECT_EQ(mistake_of(node), "`Resize` is given neither scales nor sizes\n");
}

TEST(OnnxSignal, VolumesAreNotSampledByCubics) {
  const OneNode node{
      "GridSample", 20, {counting("x", {1, 1, 2, 2, 2}), counting("g", {1, 1, 1, 1, 3})}, {"x", "g"}, {text("mode", "cubic")}};
  EXPECT_EQ(mistake_of(node), "`GridSample` of volumes by `cubic` with the padding `zeros` is not supported\n");
}

// --- recurrent networks ------------------------------------------------------------------------------------------------------------------

/// Running sums of two sequences, of which the first has one element.
OneNode sums(std::string_view direction, const std::vector<std::int32_t>& lengths) {
  return {"RNN",
          14,
          {counting("x", {2, 2, 1}), floats("w", {1, 1, 1}, {1}), floats("r", {1, 1, 1}, {1}),
           raw_tensor<std::int32_t>("l", kInt32, {2}, lengths)},
          {"x", "w", "r", "", "l"},
          {integer("hidden_size", 1), text("direction", direction), texts("activations", {"Relu"})},
          {"y", "h"}};
}

TEST(OnnxSignal, SequencesEndEachAtItsLength) {
  EXPECT_EQ(results(sums("forward", {1, 2})), "[[[[1.0], [2.0]]], [[[0.0], [6.0]]]][[[1.0], [6.0]]]");
  EXPECT_EQ(results(sums("reverse", {1, 2})), "[[[[1.0], [6.0]]], [[[0.0], [4.0]]]][[[1.0], [6.0]]]");
  EXPECT_EQ(results(sums("reverse", {2, 2})), "[[[[4.0], [6.0]]], [[[3.0], [4.0]]]][[[4.0], [6.0]]]");
  EXPECT_EQ(operations(sums("forward", {2, 2})).find("where"), std::string::npos);
  EXPECT_NE(operations(sums("forward", {1, 2})).find("where"), std::string::npos);
}

TEST(OnnxSignal, ActivationsTakeTheirNumbersInTheirOrder) {
  OneNode node = sums("forward", {2, 2});
  node.attributes[2] = texts("activations", {"Affine"});
  node.attributes.push_back(numbers("activation_alpha", {2}));
  node.attributes.push_back(numbers("activation_beta", {1}));
  EXPECT_EQ(results(node), "[[[[3.0], [5.0]]], [[[13.0], [19.0]]]][[[13.0], [19.0]]]");
  node.attributes.push_back(number("clip", 3));
  EXPECT_EQ(results(node), "[[[[3.0], [5.0]]], [[[7.0], [7.0]]]][[[7.0], [7.0]]]");
  node.attributes[2] = texts("activations", {"Swish"});
  EXPECT_EQ(mistake_of(node), "`RNN` with the activation `swish` is not supported\n");
  node.attributes[2] = texts("activations", {"Tanh", "Tanh", "Tanh"});
  node.attributes[1] = text("direction", "bidirectional");
  EXPECT_EQ(mistake_of(node).substr(0, 10), "`RNN`: the");
}

TEST(OnnxSignal, OneGateLikeTheOthersNeedsNoLoopOfItsOwn) {
  OneNode node{"LSTM",
               14,
               {counting("x", {3, 1, 2}), counting("w", {1, 4, 2}), counting("r", {1, 4, 1})},
               {"x", "w", "r"},
               {integer("hidden_size", 1), texts("activations", {"Sigmoid", "Tanh", "tanh"})},
               {"", "h", "c"}};
  EXPECT_NE(operations(node).find("lstm_cell"), std::string::npos) << operations(node);
  node.attributes.push_back(integer("input_forget", 1));
  EXPECT_EQ(operations(node).find("lstm_cell"), std::string::npos);
}

// --- signals -----------------------------------------------------------------------------------------------------------------------------

TEST(OnnxSignal, TransformsRefuseWhatHasNoMeaning) {
  OneNode node{"DFT", 17, {counting("x", {1, 4, 2})}, {"x"}, {integer("onesided", 1)}};
  EXPECT_EQ(mistake_of(node), "`DFT` of complex numbers with `onesided` is not supported\n");
  node.attributes = {integer("axis", 2)};
  EXPECT_EQ(mistake_of(node), "`DFT` transforms an axis before the last, which is 1 (real) or 2 (complex), not axis 2 of f32[1, 4, 2]\n");
  const OneNode stft{
      "STFT", 17, {counting("x", {1, 8, 1}), int64s("s", {}, {2}), counting("w", {3}), int64s("n", {}, {4})}, {"x", "s", "w", "n"}};
  EXPECT_EQ(mistake_of(stft), "`STFT`: frames of 4 in steps of 2 do not fit the signal f32[1, 8, 1] or the window\n");
}

TEST(OnnxSignal, NumbersThatFollowFromAFewAreConstants) {
  const OneNode window{"HannWindow", 17, {int64s("x", {}, {4})}};
  EXPECT_EQ(operations(window), "");
  EXPECT_EQ(results(window), "[0.0, 0.5, 1.0, 0.5]");
  const OneNode mel{"MelWeightMatrix",
                    17,
                    {int64s("n", {}, {2}), int64s("l", {}, {8}), int64s("r", {}, {100}), floats("a", {}, {0}), floats("b", {}, {900})},
                    {"n", "l", "r", "a", "b"}};
  EXPECT_EQ(mistake_of(mel), "`MelWeightMatrix`: the edges lie outside of what the rate can show\n");
}

}  // namespace
}  // namespace cleave
