// Reading and updating arrays at computed indices: results, refused calls, and the index that an error names.
#include "graph/ops/updates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/trace/control_flow.h"
#include "graph/trace/trace.h"
#include "tests/support/counting.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using Integers = std::vector<std::int64_t>;

Array at(std::int32_t index) {
  return Array::scalar(index);
}
std::string failure(std::string_view op, const std::vector<Array>& inputs, const Attributes& attributes = {}) {
  const auto result = call_op(*find_op(op), inputs, attributes);
  return result ? "" : result.error().message;
}

TEST(Windows, AreReadWhereStartsSay) {
  const Array x = counting({4, 5});
  EXPECT_THAT(elements(call_op("dynamic_slice", {x, at(1), at(2)}, {{"sizes", Integers{2, 3}}})), ElementsAre(7, 8, 9, 12, 13, 14));
  EXPECT_THAT(elements(call_op("dynamic_slice", {x, at(-1), at(-5)}, {{"sizes", Integers{1, 2}}})), ElementsAre(15, 16));
  EXPECT_THAT(elements(call_op("dynamic_slice", {x, Array::of<std::int64_t>({2}, {3, 4})}, {{"sizes", Integers{1, 1}}})), ElementsAre(19));
}

TEST(Windows, AreFilledWhereStartsSay) {
  const Array x = counting({3, 3}), row = Array::of<std::int32_t>({3}, {-1, -2, -3});
  EXPECT_THAT(elements(call_op("dynamic_update_slice", {x, row, at(1), at(0)})), ElementsAre(0, 1, 2, -1, -2, -3, 6, 7, 8));
  const Array corner = Array::of<std::int32_t>({2, 1}, {-1, -2});
  EXPECT_THAT(elements(call_op("dynamic_update_slice", {x, corner, at(-2), at(2)})), ElementsAre(0, 1, 2, 3, 4, -1, 6, 7, -2));
}

TEST(Windows, ThatDoNotLieWithinAreErrorsOfTheRun) {
  const Array x = counting({4, 5});
  EXPECT_EQ(failure("dynamic_slice", {x, at(3), at(0)}, {{"sizes", Integers{2, 5}}}),
            "`dynamic_slice`: from the start 3 on, a window of [2, 5] does not lie within [4, 5]");
  EXPECT_EQ(failure("dynamic_slice", {x, at(0), at(-6)}, {{"sizes", Integers{2, 5}}}),
            "`dynamic_slice`: from the start -6 on, a window of [2, 5] does not lie within [4, 5]");
  EXPECT_EQ(failure("dynamic_update_slice", {x, counting({5}), at(4), at(0)}),
            "`dynamic_update_slice`: from the start 4 on, a window of [1, 5] does not lie within [4, 5]");
  EXPECT_EQ(failure("dynamic_slice", {x, Array::of<std::int64_t>({2}, {INT64_MIN, INT64_MAX})}, {{"sizes", Integers{1, 1}}}),
            "`dynamic_slice`: from the start -9223372036854775808 on, a window of [1, 1] does not lie within [4, 5]");
}

TEST(Windows, ThatCannotBeAreRefused) {
  const Attributes of_two = {{"sizes", Integers{2, 2}}};
  EXPECT_EQ(refusal("dynamic_slice", {"f32[4, 5]", "i32[]"}, of_two),
            "`dynamic_slice` of f32[4, 5] and i32[]: takes 2 starts, one an axis of x: scalars, or one vector of them");
  EXPECT_EQ(refusal("dynamic_slice", {"f32[4, 5]", "i32[3]"}, of_two),
            "`dynamic_slice` of f32[4, 5] and i32[3]: takes 2 starts, one an axis of x: scalars, or one vector of them");
  EXPECT_EQ(refusal("dynamic_slice", {"f32[4, 5]", "f32[2]"}, of_two),
            "`dynamic_slice` of f32[4, 5] and f32[2]: the starts must be integers");
  EXPECT_EQ(refusal("dynamic_slice", {"f32[4, 1]", "i32[2]"}, of_two),
            "`dynamic_slice` of f32[4, 1] and i32[2]: a window of [2, 2] does not fit into [4, 1]");
  EXPECT_EQ(refusal("dynamic_slice", {"f32[4]", "i32[1]"}, of_two),
            "`dynamic_slice` of f32[4] and i32[1]: `sizes` takes one number for each axis of x");
  EXPECT_EQ(refusal("dynamic_update_slice", {"f32[4]", "f64[4]", "i32[1]"}),
            "`dynamic_update_slice` of f32[4], f64[4] and i32[1]: the element types differ");
  EXPECT_EQ(refusal("dynamic_update_slice", {"f32[4]", "f32[1, 4]", "i32[1]"}),
            "`dynamic_update_slice` of f32[4], f32[1, 4] and i32[1]: the update has more axes than what it goes into");
}

TEST(Gathering, TakesOneElementForEachIndex) {
  const Array x = counting({2, 3});
  EXPECT_THAT(elements(call_op("take_along_axis", {x, Array::of<std::int32_t>({2, 2}, {2, -3, 1, 1})})), ElementsAre(2, 0, 4, 4));
  EXPECT_THAT(elements(call_op("take_along_axis", {x, Array::of<std::int32_t>({1, 3}, {1, 0, 1})}, {{"axis", std::int64_t{0}}})),
              ElementsAre(3, 1, 5));
  EXPECT_THAT(elements(call_op("gather_nd", {x, Array::of<std::int64_t>({2, 2}, {1, 2, -2, 0})})), ElementsAre(5, 0));
  EXPECT_THAT(elements(call_op("gather_nd", {x, Array::of<std::int64_t>({1, 1}, {-1})})), ElementsAre(3, 4, 5));
  EXPECT_THAT(elements(call_op("gather_nd", {x, Array::of<std::int64_t>({2, 1}, {0, 2})}, {{"batch_dims", std::int64_t{1}}})),
              ElementsAre(0, 5));
}

TEST(Scattering, MakesUpdatesInTheOrderOfTheIndices) {
  const Array zeros = Array::of<float>({4}, {0, 0, 0, 0}), at = Array::of<std::int32_t>({5}, {1, 3, 1, -1, 0});
  const Array updates = Array::of<float>({5}, {1, 2, 3, 4, 5});
  EXPECT_THAT(elements(call_op("scatter", {zeros, at, updates})), ElementsAre(5, 3, 0, 4)) << "the last one stays";
  EXPECT_THAT(elements(call_op("scatter_add", {zeros, at, updates})), ElementsAre(5, 4, 0, 6));
  const Array big = Array::of<float>({5}, {1e8F, 1, 1, -1e8F, 0}), one = Array::of<std::int32_t>({5}, {2, 2, 2, 2, 2});
  EXPECT_THAT(elements(call_op("scatter_add", {zeros, one, big})), ElementsAre(0, 0, 0, 0)) << "one after the other, in f32";
  EXPECT_THAT(elements(call_op("scatter", {zeros, at, updates}, {{"reduction", std::string("max")}})), ElementsAre(5, 3, 0, 4));
  const Array table = Array::of<float>({3, 2}, {1, 1, 1, 1, 1, 1});
  EXPECT_THAT(elements(call_op("scatter_add", {table, Array::of<std::int32_t>({2}, {2, 2}), Array::of<float>({2, 2}, {1, 2, 3, 4})})),
              ElementsAre(1, 1, 1, 1, 5, 7));
  EXPECT_THAT(elements(call_op("scatter_nd", {table, Array::of<std::int32_t>({1, 2}, {0, -1}), Array::of<float>({1}, {9})},
                               {{"reduction", std::string("mul")}})),
              ElementsAre(1, 9, 1, 1, 1, 1));
}

TEST(Scattering, NamesAnIndexThatLeadsNowhere) {
  const Array x = Array::of<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(failure("scatter_nd", {x, Array::of<std::int32_t>({1, 2}, {1, 3}), Array::of<float>({1}, {9})}),
            "`scatter_nd`: the index 3 is outside its axis of [2, 3]");
  EXPECT_EQ(failure("gather_nd", {x, Array::of<std::int32_t>({1, 2}, {-3, 0})}), "`gather_nd`: the index -3 is outside its axis of [2, 3]");
  EXPECT_EQ(failure("take_along_axis", {x, Array::of<std::int64_t>({1, 3}, {0, 1, INT64_MIN})}),
            "`take_along_axis`: the index -9223372036854775808 is outside its axis of [2, 3]");
}

TEST(Scattering, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal("scatter", {"f32[4]", "i32[3]", "f32[2]"}), "`scatter` of f32[4], i32[3] and f32[2]: the updates must be of shape [3]");
  EXPECT_EQ(refusal("scatter", {"f32[4, 2]", "i32[3, 3]", "f32[3, 3]"}),
            "`scatter` of f32[4, 2], i32[3, 3] and f32[3, 3]: the indices are longer than x along axis 1");
  EXPECT_EQ(refusal("scatter", {"f32[4]", "i32[3]", "f32[3]"}, {{"reduction", std::string("sum")}}),
            "`scatter` of f32[4], i32[3] and f32[3]: `reduction` is one of none, add, mul, max, min, not `sum`");
  EXPECT_EQ(refusal("scatter_add", {"bool[4]", "i32[3]", "bool[3]"}),
            "`scatter_add` of bool[4], i32[3] and bool[3]: bool has no sum and no product; `max` is or, `min` is and");
  EXPECT_EQ(refusal("scatter_add", {"f32[4, 5]", "i32[3]", "f32[3]"}),
            "`scatter_add` of f32[4, 5], i32[3] and f32[3]: the updates must be of shape [3, 5]");
  EXPECT_EQ(refusal("gather_nd", {"f32[4]", "i32[3, 2]"}), "`gather_nd` of f32[4] and i32[3, 2]: 2 indices for 1 axes");
  EXPECT_EQ(refusal("scatter_nd", {"f32[4]", "f32[3, 1]", "f32[3]"}),
            "`scatter_nd` of f32[4], f32[3, 1] and f32[3]: the indices must be integers");
  EXPECT_EQ(refusal("take_along_axis", {"f32[4, 3]", "i32[2, 2]"}),
            "`take_along_axis` of f32[4, 3] and i32[2, 2]: x and indices differ in axis 0");
}

TEST(Windows, AreTracedByTheirFunctions) {
  const Graph graph = trace("t", {{"x", "f32[6, 4]"}, {"i", "i32[]"}}, [](Tensor x, Tensor i) {
    EXPECT_EQ(to_string(dynamic_slice(x, {i, 0}, {2, 4}).type()), "f32[2, 4]");
    return for_loop(6, x, [&](Tensor t, Tensor track) { return dynamic_update_slice(track, zeros({4}), {t, 0}); });
  });
  EXPECT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
}

/// Checked on every sample.
TEST(InPlace, WhatKeepsBytesKeepsThem) {
  std::set<std::string> seen;
  for (const OpSample& sample : op_samples()) {
    if (!sample.op->keeps_bytes) continue;
    const auto results = call_op(*sample.op, sample.inputs, sample.attributes);
    if (!results) continue;
    SCOPED_TRACE(describe(sample));
    ASSERT_EQ(sample.inputs.size(), 1U);
    const Array &x = sample.inputs[0], &y = results->front();
    ASSERT_EQ(x.type().bytes(), y.type().bytes());
    EXPECT_TRUE(std::equal(x.bytes(), x.bytes() + x.type().bytes(), y.bytes()));
    seen.insert(std::string(sample.op->name));
  }
  EXPECT_THAT(seen, ElementsAre("bitcast", "expand_dims", "reshape", "squeeze", "to_accelerator", "to_host"));
}

}  // namespace
}  // namespace cleave::testing
