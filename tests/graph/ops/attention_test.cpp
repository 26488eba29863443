// attention: calls that it refuses, its causal rule, its masks, and the result of a query that sees no key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/ops/attention.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Array rows(std::vector<float> numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return Array::of<float>({count, 1}, std::move(numbers));
}

/// Results for keys that are all zero: each query gives the mean of the values that it sees.
std::vector<double> means(std::int64_t queries, std::vector<float> values, const Attributes& attributes, std::vector<Array> mask = {}) {
  const auto keys = static_cast<std::int64_t>(values.size());
  std::vector<Array> inputs{Array({DType::f32, {queries, 1}}), Array({DType::f32, {keys, 1}}), rows(std::move(values))};
  for (Array& each : mask) inputs.push_back(std::move(each));
  return elements(call_op("attention", inputs, attributes));
}

TEST(Attention, IsCausalFromTheEnd) {
  const Attributes causal{{"causal", true}};
  EXPECT_THAT(means(3, {1, 3, 8}, causal), ElementsAre(1, 2, 4));
  EXPECT_THAT(means(1, {1, 3, 8}, causal), ElementsAre(4));
  EXPECT_THAT(means(2, {1, 3, 8}, causal), ElementsAre(2, 4));
  EXPECT_THAT(means(3, {1, 3}, causal), ElementsAre(0, 1, 2)) << "the first query sees no key";
}

TEST(Attention, TakesMasksThatKeepAndMasksThatAdd) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(means(2, {1, 3, 8}, {}, {Array::of<bool>({3}, {true, false, true})}), ElementsAre(4.5, 4.5));
  EXPECT_THAT(means(2, {1, 3, 8}, {}, {Array::of<bool>({2, 1}, {true, false})}), ElementsAre(4, 0));
  EXPECT_THAT(means(1, {1, 3}, {}, {Array::of<float>({2}, {0, kNever})}), ElementsAre(1));
  EXPECT_THAT(means(1, {1, 3}, {}, {Array::of<float>({2}, {kNever, kNever})}), ElementsAre(0));
}

TEST(Attention, RefusesWhatDoesNotMeet) {
  const auto refused = [](const std::vector<std::string>& inputs, const Attributes& attributes = {}) {
    return refusal("attention", inputs, attributes);
  };
  EXPECT_EQ(refused({"f32[2, 8, 5, 4]", "f32[2, 2, 7, 4]", "f32[2, 2, 7, 3]", "bool[7]"}), "");
  EXPECT_THAT(refused({"i32[5, 4]", "i32[7, 4]", "i32[7, 4]"}), HasSubstr("needs floating-point elements"));
  EXPECT_THAT(refused({"f32[5, 4]", "f64[7, 4]", "f32[7, 4]"}), HasSubstr("different element types"));
  EXPECT_THAT(refused({"f32[4]", "f32[7, 4]", "f32[7, 4]"}), HasSubstr("as many axes each"));
  EXPECT_THAT(refused({"f32[1, 5, 4]", "f32[7, 4]", "f32[7, 4]"}), HasSubstr("as many axes each"));
  EXPECT_THAT(refused({"f32[5, 4]", "f32[7, 3]", "f32[7, 4]"}), HasSubstr("a query has depth 4 and a key 3"));
  EXPECT_THAT(refused({"f32[5, 4]", "f32[7, 4]", "f32[6, 4]"}), HasSubstr("there are 7 keys and 6 values"));
  EXPECT_THAT(refused({"f32[8, 5, 4]", "f32[3, 7, 4]", "f32[3, 7, 4]"}), HasSubstr("the 8 heads of the query are no multiple of the 3"));
  EXPECT_THAT(refused({"f32[8, 5, 4]", "f32[4, 7, 4]", "f32[2, 7, 4]"}), HasSubstr("keys have 4 heads and values 2"));
  EXPECT_THAT(refused({"f32[3, 1, 5, 4]", "f32[2, 1, 7, 4]", "f32[2, 1, 7, 4]"}), HasSubstr("do not broadcast"));
  EXPECT_THAT(refused({"f32[5, 4]", "f32[7, 4]", "f32[7, 4]", "bool[5, 6]"}),
              HasSubstr("the mask [5, 6] does not broadcast to the scores [5, 7]"));
  EXPECT_THAT(refused({"f32[5, 4]", "f32[7, 4]", "f32[7, 4]", "bool[2, 5, 7]"}), HasSubstr("does not broadcast"));
  EXPECT_THAT(refused({"f32[5, 4]", "f32[7, 4]", "f32[7, 4]", "i32[5, 7]"}), HasSubstr("the mask is bool"));
  EXPECT_THAT(refused({"f32[5, 4]", "f32[7, 4]", "f32[7, 4]"}, {{"scale", std::numeric_limits<double>::infinity()}}),
              HasSubstr("no finite number"));
  EXPECT_THAT(refused({"f32[1099511627776, 1]", "f32[1099511627776, 1]", "f32[1099511627776, 1]"}), HasSubstr("would be too many"));
}

TEST(Attention, IsAFunctionOfTheTrace) {
  const Graph graph = trace("t", {{"q", "f32[2, 4, 3, 8]"}, {"k", "f32[2, 2, 5, 8]"}, {"m", "bool[5]"}},
                            [](Tensor q, Tensor k, Tensor m) { return attention(q, k, k, {.mask = m, .causal = true, .scale = 0.5}); });
  ASSERT_TRUE(graph.ok());
  for (const Node& node : graph.nodes) {
    if (node.op == nullptr) continue;
    EXPECT_EQ(node.op->name, "attention");
    EXPECT_EQ(node.inputs.size(), 4U);
    EXPECT_EQ(node.attributes.get<double>("scale"), 0.5);
    EXPECT_TRUE(node.attributes.get<bool>("causal"));
  }
}

}  // namespace
}  // namespace cleave::testing
