// Operators of ONNX Runtime: to which operations they are lowered, lengths that only a run knows, and what is refused. Their values are
// compared with ONNX Runtime's by the cases of tests/onnx/ort_cases.
#include "tests/support/onnx_node.h"

namespace cleave {
namespace {

using namespace onnx_file;

constexpr int kLengths = 6, kPacked = 2;  // element types i32 and u8

OneNode contrib(std::string_view op, std::vector<Message> operands, std::vector<std::string_view> names,
                std::vector<Message> attributes = {}) {
  OneNode node{op, 17, std::move(operands), std::move(names), std::move(attributes)};
  node.domain = "com.microsoft";
  return node;
}

std::string refusal_of(const OneNode& node) {
  const std::string text = said(node), begin = "m.onnx: node n (" + std::string(node.op) + "): error: ";
  return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

Message lengths(std::string_view name, std::initializer_list<std::int64_t> shape, const std::vector<std::int32_t>& values) {
  return raw_tensor(name, kLengths, shape, values);
}

Message scaled_down(std::string_view name, std::initializer_list<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 7) % 11) / 8 - 0.5F);
  return floats(name, shape, values);
}

// --- one operation each ------------------------------------------------------------------------------------------------------------------

TEST(OnnxContrib, AttentionIsOneOperationBesideItsProjection) {
  const std::vector<Message> operands{scaled_down("x", {1, 3, 4}), scaled_down("w", {4, 12})};
  const OneNode plain = contrib("Attention", operands, {"x", "w"}, {integer("num_heads", 2)});
  EXPECT_NE(operations(plain).find("attention"), std::string::npos);
  EXPECT_EQ(operations(plain).find("softmax"), std::string::npos);
  OneNode causal = plain;
  causal.attributes.push_back(integer("unidirectional", 1));
  EXPECT_EQ(operations(causal), operations(plain));
}

TEST(OnnxContrib, APromptWithoutPastNeedsNoMask) {
  OneNode node = contrib("GroupQueryAttention", {scaled_down("q", {1, 3, 16}), scaled_down("k", {1, 3, 8}), scaled_down("v", {1, 3, 8})},
                         {"q", "k", "v", "", "", "lengths", "total"}, {integer("num_heads", 2), integer("kv_num_heads", 1)});
  node.inputs = {value_info("lengths", kLengths, {1}), value_info("total", kLengths, {})};
  node.results = {"y", "present_key", "present_value"};
  const std::string text = operations(node);
  EXPECT_NE(text.find("attention"), std::string::npos);
  for (const char* op : {"less", "where", "concat", "dynamic_update_slice"}) EXPECT_EQ(text.find(op), std::string::npos) << text;
}

TEST(OnnxContrib, ACacheIsUpdatedInItsPlace) {
  OneNode node = contrib("GroupQueryAttention",
                         {scaled_down("q", {1, 1, 16}), scaled_down("k", {1, 1, 8}), scaled_down("v", {1, 1, 8}),
                          scaled_down("pk", {1, 1, 6, 8}), scaled_down("pv", {1, 1, 6, 8})},
                         {"q", "k", "v", "pk", "pv", "lengths", "total"}, {integer("num_heads", 2), integer("kv_num_heads", 1)});
  node.inputs = {value_info("lengths", kLengths, {1}), value_info("total", kLengths, {})};
  node.results = {"y", "present_key", "present_value"};
  const std::string text = operations(node);
  EXPECT_NE(text.find("dynamic_update_slice"), std::string::npos);
  EXPECT_EQ(text.find("concat"), std::string::npos);
}

TEST(OnnxContrib, KnownWeightsOfFewBitsAreUnpackedOnce) {
  const std::vector<std::uint8_t> bytes(2 * 8, 0x98);  // elements 8 and 9, and 8 means 0
  OneNode node = contrib("MatMulNBits", {raw_tensor("b", kPacked, {2, 1, 8}, bytes), floats("s", {2, 1}, {1, 2})}, {"x", "b", "s"},
                         {integer("K", 16), integer("N", 2), integer("bits", 4), integer("block_size", 16)});
  node.inputs = {value_info("x", kFloat, {1, 16})};
  EXPECT_EQ(operations(node), "transpose matmul");
  node.inputs.push_back(value_info("b", kPacked, {2, 1, 8}));
  node.operands.erase(node.operands.begin());
  EXPECT_NE(operations(node).find("bitwise_and"), std::string::npos);
}

TEST(OnnxContrib, UnpacksLowBitsFirst) {
  const std::vector<std::uint8_t> bytes(8, 0x98);
  const OneNode node = contrib("MatMulNBits",
                               {floats("x", {1, 16}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}),
                                raw_tensor("b", kPacked, {1, 1, 8}, bytes), floats("s", {1, 1}, {0.5F})},
                               {"x", "b", "s"}, {integer("K", 16), integer("N", 1), integer("block_size", 16)});
  EXPECT_EQ(results(node), "[[5.0]]");
}

// --- what is refused ---------------------------------------------------------------------------------------------------------------------

TEST(OnnxContrib, SaysWhichOptionItLacks) {
  const std::vector<Message> operands{scaled_down("x", {1, 3, 4}), scaled_down("w", {4, 12})};
  const auto attention = [&](Message attribute) {
    return refusal_of(contrib("Attention", operands, {"x", "w"}, {integer("num_heads", 2), std::move(attribute)}));
  };
  EXPECT_EQ(attention(integer("do_rotary", 1)), "`Attention` with `do_rotary` is not supported\n");
  EXPECT_EQ(attention(integer("past_present_share_buffer", 1)), "`Attention` with `past_present_share_buffer` is not supported\n");
  EXPECT_EQ(attention(integer("new_option", 1)), "`com.microsoft.Attention` with the attribute `new_option` is not supported\n");
  EXPECT_EQ(
      refusal_of(contrib("FusedGemm", {scaled_down("a", {2, 3}), scaled_down("b", {3, 2})}, {"a", "b"}, {text("activation", "Wave")})),
      "`FusedGemm` with `activation` = \"Wave\" is not supported\n");
  EXPECT_EQ(refusal_of(contrib("CDist", {scaled_down("a", {2, 3}), scaled_down("b", {4, 3})}, {"a", "b"}, {text("metric", "cosine")})),
            "`CDist` with `metric` = \"cosine\" is not supported\n");
}

TEST(OnnxContrib, SaysWhatDoesNotFit) {
  const std::vector<Message> operands{scaled_down("x", {2, 3, 4}), scaled_down("w", {4, 12}), lengths("m", {5}, {1, 2, 3, 4, 5})};
  EXPECT_EQ(refusal_of(contrib("Attention", operands, {"x", "w", "", "m"}, {integer("num_heads", 2)})),
            "`Attention` with a mask i32[5] for 2 samples of 3 queries and 3 keys is not supported\n");
  EXPECT_EQ(refusal_of(contrib("Attention", operands, {"x", "w"}, {integer("num_heads", 5)})),
            "`Attention`: weights f32[4, 12] do not divide into queries, keys and values of `num_heads` heads by `qkv_hidden_sizes`\n");
  const std::vector<std::uint8_t> bytes(8);
  const std::vector<Message> packed{scaled_down("x", {1, 16}), raw_tensor("b", kPacked, {1, 1, 8}, bytes), floats("s", {1, 2}, {1, 1})};
  const auto product = [&](std::int64_t bits) {
    return refusal_of(contrib("MatMulNBits", packed, {"x", "b", "s"},
                              {integer("K", 16), integer("N", 1), integer("bits", bits), integer("block_size", 16)}));
  };
  EXPECT_EQ(product(4), "`MatMulNBits`: scales f32[1, 2] are not one for each of 1 blocks of 1 rows\n");
  EXPECT_EQ(product(8), "`MatMulNBits`: packed weights u8[1, 1, 8] are not 1 rows of 16 elements of 8 bits\n");
  EXPECT_EQ(product(3), "`MatMulNBits` of weights of 3 bits is not supported\n");
}

TEST(OnnxContrib, SaysWhenACacheHasNoRoom) {
  OneNode node =
      contrib("GroupQueryAttention",
              {scaled_down("q", {1, 1, 16}), scaled_down("k", {1, 1, 8}), scaled_down("v", {1, 1, 8}), scaled_down("pk", {1, 1, 6, 8}),
               scaled_down("pv", {1, 1, 6, 8}), lengths("lengths", {1}, {8}), lengths("total", {}, {9})},
              {"q", "k", "v", "pk", "pv", "lengths", "total"}, {integer("num_heads", 2), integer("kv_num_heads", 1)});
  EXPECT_EQ(refusal_of(node),
            "`GroupQueryAttention`: a total length of 9 is neither within the past keys f32[1, 1, 6, 8] nor that many and the 1 "
            "new ones\n");
}

}  // namespace
}  // namespace cleave
