// tree_ensemble: results by hand, where NaN goes, refused calls, and trees that cannot be. tests/onnx/ort_cases compares it with ONNX
// Runtime.
#include "graph/ops/trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "executor/device/kernel.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

/// Two trees: x0 <= 1 ? (x1 <= 2 ? 10 : 20) : 30, and a leaf of 5.
std::vector<Array> two_trees(const Array& x) {
  return {x,
          Array::of<std::int32_t>({2}, {0, -4}),
          Array::of<std::int32_t>({2}, {0, 1}),
          Array::of<float>({2}, {1, 2}),
          Array::of<std::int32_t>({2, 2}, {1, -3, -1, -2}),
          Array::of<float>({4}, {10, 20, 30, 5})};
}

std::vector<double> walked(const std::vector<Array>& inputs, const Attributes& attributes = {}) {
  return elements(call_op("tree_ensemble", inputs, attributes));
}

const Array kRows = Array::of<float>({4, 2}, {1, 2, 1, 3, 2, 0, kNaN, 0});

TEST(TreeEnsemble, AddsTheLeavesThatRowsReach) {
  EXPECT_THAT(walked(two_trees(kRows)), ElementsAre(15, 25, 35, 35)) << "NaN goes to the second child";
  EXPECT_THAT(walked(two_trees(kRows), {{"strict", true}}), ElementsAre(35, 35, 35, 35)) << "1 < 1 is false";
  EXPECT_THAT(walked(two_trees(kRows), {{"aggregate", std::string("mean")}}), ElementsAre(7.5, 12.5, 17.5, 17.5));
  EXPECT_THAT(walked(two_trees(kRows), {{"aggregate", std::string("min")}}), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(walked(two_trees(kRows), {{"aggregate", std::string("max")}}), ElementsAre(10, 20, 30, 30));
  EXPECT_THAT(walked(two_trees(Array::of<float>({2}, {-kInfinity, kInfinity}))), ElementsAre(25)) << "a vector is one row";
}

TEST(TreeEnsemble, AThirdChildIsForNaN) {
  std::vector<Array> trees = two_trees(kRows);
  trees[4] = Array::of<std::int32_t>({2, 3}, {1, -3, 1, -1, -2, -2});
  EXPECT_THAT(walked(trees), ElementsAre(15, 25, 35, 15));
}

TEST(TreeEnsemble, LeavesHaveSeveralValuesOrATarget) {
  std::vector<Array> trees = two_trees(kRows);
  trees[5] = Array::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 0.5F, 0.25F});
  EXPECT_THAT(walked(trees), ElementsAre(1.5, 2.25, 3.5, 4.25, 5.5, 6.25, 5.5, 6.25));
  trees = two_trees(kRows);
  trees.push_back(Array::of<std::int64_t>({4}, {0, 2, 0, 1}));
  EXPECT_THAT(walked(trees, {{"outputs", std::int64_t{3}}}), ElementsAre(10, 5, 0, 0, 5, 20, 30, 5, 0, 30, 5, 0));
}

TEST(TreeEnsemble, RefusesTypesThatDoNotFit) {
  const auto refused = [](std::size_t operand, const std::string& type, const Attributes& attributes = {},
                          const std::string& targets = "") {
    std::vector<std::string> types{"f32[4, 2]", "i32[2]", "i32[3]", "f32[3]", "i32[3, 2]", "f32[5]"};
    types[operand] = type;
    if (!targets.empty()) types.push_back(targets);
    const std::string said = refusal("tree_ensemble", types, attributes);
    const std::size_t place = said.find("more: ");  // behind the names of the types
    return place == std::string::npos ? said : said.substr(place + 6);
  };
  EXPECT_EQ(refused(0, "f32[4, 2]"), "");
  EXPECT_EQ(refused(0, "i32[4, 2]"), "x must be f32 or f64");
  EXPECT_EQ(refused(0, "f32[]"), "the last axis of x has the features");
  EXPECT_EQ(refused(3, "f64[3]"), "thresholds and leaves must have the element type of x");
  EXPECT_EQ(refused(2, "f32[3]"), "roots, features, children and targets must be integers");
  EXPECT_EQ(refused(3, "f32[4]"), "roots are a vector, and features and thresholds vectors of one length");
  EXPECT_EQ(refused(4, "i32[3, 4]"), "children are [nodes, 2], or [nodes, 3] with those for NaN");
  EXPECT_EQ(refused(5, "f32[5, 2, 2]"), "leaves are [leaves] or [leaves, outputs]");
  EXPECT_EQ(refused(5, "f32[5, 2]", {{"outputs", std::int64_t{2}}}, "i32[5]"),
            "with targets, leaves and targets are vectors of one length");
  EXPECT_EQ(refused(5, "f32[5]", {}, "i32[5]"), "`outputs` goes with targets: the number of outputs");
  EXPECT_EQ(refused(5, "f32[5]", {{"outputs", std::int64_t{0}}}, "i32[5]"), "`outputs` must be 1 or more, not 0");
  EXPECT_EQ(refused(5, "f32[5]", {{"aggregate", std::string("or")}}), "`aggregate` is sum, mean, min or max, not `or`");
  EXPECT_EQ(refused(5, "f32[5]", {{"aggregate", std::string("max")}, {"outputs", std::int64_t{2}}}, "i32[5]"),
            "`aggregate` max needs leaves with a value for every output, and no targets");
}

/// The same error from the reference implementation and from the host's kernel.
std::string mistake(const std::vector<Array>& inputs, const Attributes& given = {}) {
  const OpDef& op = *find_op("tree_ensemble");
  const auto results = call_op(op, inputs, given);
  if (results.ok()) return "";
  Attributes attributes = given;
  EXPECT_FALSE(normalize_call(op, inputs.size(), attributes));
  const auto types = std::get<0>(op.type_rule(types_of(inputs), attributes));
  Array result(types[0]);
  std::vector<runtime::TensorView> views;
  for (const Array& input : inputs) views.push_back({&input.type(), const_cast<std::byte*>(input.bytes())});
  const std::vector<runtime::TensorView> out{{&result.type(), result.mutable_bytes()}};
  const OpContext context{[](std::string_view) {}};
  const Status status = runtime::host_kernel(op)({op, attributes, views, out, context});
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, results.error().message);
  return results.error().message;
}

TEST(TreeEnsemble, TreesThatCannotBeAreOneError) {
  const auto with = [](std::size_t operand, Array array) {
    std::vector<Array> trees = two_trees(kRows);
    trees[operand] = std::move(array);
    return mistake(trees);
  };
  const std::string sizes = "; there are 2 nodes and 4 leaves", behind = ", which is neither a node behind it nor -1 - k for a leaf k";
  EXPECT_EQ(with(1, Array::of<std::int32_t>({2}, {0, 2})), "`tree_ensemble`: tree 1 has the root 2" + sizes);
  EXPECT_EQ(with(1, Array::of<std::int32_t>({2}, {-5, 0})), "`tree_ensemble`: tree 0 has the root -5" + sizes);
  EXPECT_EQ(with(2, Array::of<std::uint64_t>({2}, {0, ~std::uint64_t{0}})),
            "`tree_ensemble`: node 1 tests the feature 9223372036854775807, and x has 2");
  EXPECT_EQ(with(4, Array::of<std::int32_t>({2, 2}, {1, -3, 0, -2})), "`tree_ensemble`: node 1 has the child 0" + behind + sizes);
  EXPECT_EQ(with(4, Array::of<std::int32_t>({2, 2}, {0, -3, -1, -2})), "`tree_ensemble`: node 0 has the child 0" + behind + sizes);
  EXPECT_EQ(with(4, Array::of<std::int32_t>({2, 2}, {1, -5, -1, -2})), "`tree_ensemble`: node 0 has the child -5" + behind + sizes);
  EXPECT_EQ(with(4, Array::of<std::int32_t>({2, 3}, {1, -3, -1, -1, -2, -2})),
            "`tree_ensemble`: node 0 has the child -1 for NaN, which is neither of its other two");
  std::vector<Array> trees = two_trees(kRows);
  trees.push_back(Array::of<std::int64_t>({4}, {0, 2, 3, 1}));
  EXPECT_EQ(mistake(trees, {{"outputs", std::int64_t{3}}}), "`tree_ensemble`: leaf 2 has the target 3, and there are 3 outputs");
}

}  // namespace
}  // namespace cleave::testing
