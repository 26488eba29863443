// Results of the shape, indexing, joining and creation ops; the expected numbers are NumPy's unless a comment says otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "tests/support/counting.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max(), kBegin = std::numeric_limits<std::int64_t>::min();

const Attributes along(std::int64_t axis) {
  return {{"axis", axis}};
}

TEST(ShapeOps, TransposePermuteFlip) {
  const Array m = counting({2, 3, 4});
  const Array t = call_op("transpose", {m});
  EXPECT_EQ(t.shape(), (Shape{2, 4, 3}));
  EXPECT_THAT(elements(t), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23));
  const Array p = call_op("permute_dims", {m}, {{"axes", Integers{2, 0, -2}}});
  EXPECT_EQ(p.shape(), (Shape{4, 2, 3}));
  EXPECT_THAT(elements(p), ElementsAre(0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23));
  EXPECT_THAT(elements(call_op("flip", {m}, {{"axis", Integers{0, 2}}})),
              ElementsAre(15, 14, 13, 12, 19, 18, 17, 16, 23, 22, 21, 20, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8));
  EXPECT_EQ(call_op("flip", {call_op("flip", {m})}), m);
  EXPECT_EQ(refusal("transpose", {"f32[3]"}), "`transpose` of f32[3]: needs at least two axes");
  EXPECT_EQ(refusal("permute_dims", {"f32[3, 2]"}, {{"axes", Integers{0}}}),
            "`permute_dims` of f32[3, 2]: `axes` must name every axis once");
  EXPECT_EQ(refusal("permute_dims", {"f32[3, 2]"}, {{"axes", Integers{0, 0}}}), "`permute_dims` of f32[3, 2]: axis 0 is named twice");
}

TEST(ShapeOps, ReshapeAndItsKin) {
  const Array x = counting({2, 6});
  EXPECT_EQ(call_op("reshape", {x}, {{"shape", Integers{3, -1}}}), counting({3, 4}));
  EXPECT_EQ(call_op("reshape", {x}, {{"shape", std::int64_t{-1}}}), counting({12}));
  EXPECT_EQ(call_op("expand_dims", {x}, along(1)), counting({2, 1, 6}));
  EXPECT_EQ(call_op("expand_dims", {x}, along(-1)), counting({2, 6, 1}));
  EXPECT_EQ(call_op("squeeze", {counting({1, 5, 1})}, {{"axis", Integers{-1, 0}}}), counting({5}));
  EXPECT_EQ(refusal("reshape", {"f32[2, 6]"}, {{"shape", Integers{5, -1}}}),
            "`reshape` of f32[2, 6]: 12 elements do not fit the shape [5, -1]");
  EXPECT_EQ(refusal("reshape", {"f32[2, 6]"}, {{"shape", Integers{-1, -1}}}), "`reshape` of f32[2, 6]: only one extent may be -1");
  EXPECT_THAT(refusal("reshape", {"f32[0]"}, {{"shape", Integers{0, -1}}}), HasSubstr("do not fit"));
  EXPECT_THAT(refusal("reshape", {"f32[4]"}, {{"shape", Integers{-2, -2}}}), HasSubstr("do not fit"));
  EXPECT_EQ(refusal("squeeze", {"f32[2, 1]"}, {{"axis", Integers{0}}}), "`squeeze` of f32[2, 1]: axis 0 has extent 2, not 1");
  EXPECT_EQ(refusal("expand_dims", {"f32[2]"}, along(2)), "`expand_dims` of f32[2]: there is no axis 2 among 2 axes");
  const std::vector<TensorType> deep = {{DType::f32, Shape(32, 1)}};
  const auto too_deep = infer(*find_op("expand_dims"), deep);
  ASSERT_EQ(too_deep.index(), 1U);
  EXPECT_THAT(std::get<TypeError>(too_deep).message, HasSubstr("the result would have more than 32 axes"));
}

TEST(ShapeOps, BroadcastTo) {
  const Array wide = call_op("broadcast_to", {counting({2, 1}, 5)}, {{"shape", Integers{2, 2, 3}}});
  EXPECT_THAT(elements(wide), ElementsAre(5, 5, 5, 6, 6, 6, 5, 5, 5, 6, 6, 6));
  EXPECT_EQ(refusal("broadcast_to", {"f32[2, 3]"}, {{"shape", Integers{3}}}), "`broadcast_to` of f32[2, 3]: does not broadcast to [3]");
  EXPECT_EQ(refusal("broadcast_to", {"f32[3]"}, {{"shape", Integers{1}}}), "`broadcast_to` of f32[3]: does not broadcast to [1]");
  EXPECT_THAT(refusal("broadcast_to", {"f32[]"}, {{"shape", Integers{kEnd, kEnd}}}), HasSubstr("would be too large"));
  EXPECT_THAT(refusal("broadcast_to", {"f32[]"}, {{"shape", Integers{-3}}}), HasSubstr("negative extent"));
}

TEST(Slice, ByPythonsRules) {
  const Array m = counting({2, 3, 4});
  const Array picked = call_op("slice", {m},
                               {{"starts", Integers{1, kEnd, 1}},
                                {"stops", Integers{0, kBegin, 4}},
                                {"steps", Integers{1, -1, 2}},
                                {"squeeze", std::int64_t{0}}});  // m[1, ::-1, 1:4:2]
  EXPECT_EQ(picked.shape(), (Shape{3, 2}));
  EXPECT_THAT(elements(picked), ElementsAre(21, 23, 17, 19, 13, 15));
  const Array tail =
      call_op("slice", {m}, {{"starts", Integers{0, -2, 0}}, {"stops", Integers{kEnd, kEnd, kEnd}}, {"steps", Integers{1, 1, 3}}});
  EXPECT_THAT(elements(tail), ElementsAre(4, 7, 8, 11, 16, 19, 20, 23));
  const Array row = counting({10});
  const auto range = [&](std::int64_t start, std::int64_t stop, std::int64_t step) {
    return elements(call_op("slice", {row}, {{"starts", Integers{start}}, {"stops", Integers{stop}}, {"steps", Integers{step}}}));
  };
  EXPECT_THAT(range(2, 5, 1), ElementsAre(2, 3, 4));
  EXPECT_THAT(range(-3, kEnd, 1), ElementsAre(7, 8, 9));
  EXPECT_THAT(range(0, 100, 4), ElementsAre(0, 4, 8));
  EXPECT_THAT(range(8, 2, -3), ElementsAre(8, 5));
  EXPECT_THAT(range(5, 2, 1), ElementsAre());
  EXPECT_THAT(range(3, kEnd, kEnd), ElementsAre(3));
  EXPECT_THAT(range(3, kBegin, kBegin), ElementsAre(3));
}

TEST(Slice, EveryRangeOfASmallAxisIsPythons) {
  for (std::int64_t extent = 0; extent < 5; ++extent) {
    for (std::int64_t start = -6; start <= 6; ++start) {
      for (std::int64_t stop = -6; stop <= 6; ++stop) {
        for (const std::int64_t step : {-3, -2, -1, 1, 2, 3}) {
          // Python's definition, element by element: from the start (cut off) by steps until the stop (cut off) is reached.
          const auto clip = [&](std::int64_t at) {
            if (at < 0) at += extent;
            return step > 0 ? std::min(std::max<std::int64_t>(at, 0), extent) : std::min(std::max<std::int64_t>(at, -1), extent - 1);
          };
          std::vector<double> expected;
          for (std::int64_t i = clip(start); step > 0 ? i < clip(stop) : i > clip(stop); i += step)
            expected.push_back(static_cast<double>(i));
          const Array x = counting({extent});
          EXPECT_EQ(elements(call_op("slice", {x}, {{"starts", Integers{start}}, {"stops", Integers{stop}}, {"steps", Integers{step}}})),
                    expected)
              << start << ":" << stop << ":" << step << " of " << extent;
        }
      }
    }
  }
}

TEST(Slice, IntegerIndices) {
  const Array m = counting({2, 3});
  const auto at = [](std::int64_t i, std::int64_t j) {
    return Attributes{{"starts", Integers{i, j}}, {"stops", Integers{0, 0}}, {"squeeze", Integers{0, 1}}};
  };
  EXPECT_EQ(call_op("slice", {m}, at(1, -1)), Array::scalar<std::int32_t>(5));
  EXPECT_EQ(refusal("slice", {"i32[2, 3]"}, at(2, 0)), "`slice` of i32[2, 3]: index 2 is outside axis 0 of extent 2");
  EXPECT_EQ(refusal("slice", {"i32[2, 3]"}, at(0, -4)), "`slice` of i32[2, 3]: index -4 is outside axis 1 of extent 3");
  EXPECT_EQ(refusal("slice", {"i32[3]"}, at(0, 0)), "`slice` of i32[3]: 2 indices for 1 axes");
  EXPECT_EQ(refusal("slice", {"i32[3]"}, {{"starts", Integers{0}}, {"stops", Integers{1}}, {"steps", Integers{0}}}),
            "`slice` of i32[3]: a step of 0");
}

TEST(Take, AlongAnAxis) {
  const Array m = counting({2, 3, 4});
  const Array taken = call_op("take", {m, Array::of<std::int64_t>({2, 2}, {2, 0, 1, 1})}, along(1));
  EXPECT_EQ(taken.shape(), (Shape{2, 2, 2, 4}));
  EXPECT_THAT(elements(taken), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 16, 17, 18, 19,
                                           16, 17, 18, 19));
  EXPECT_EQ(call_op("take", {counting({5}), Array::scalar<std::int32_t>(3)}), Array::scalar<std::int32_t>(3));
  EXPECT_THAT(elements(call_op("take", {counting({5}), Array::of<std::int8_t>({3}, {-1, 0, -5})})), ElementsAre(4, 0, 0));
  for (const std::int32_t index : {-6, 5}) {
    const auto result = call_op(*find_op("take"), {counting({5}), Array::scalar(index)});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "`take`: the index " + std::to_string(index) + " is outside the axis of extent 5");
  }
  EXPECT_EQ(refusal("take", {"f32[2]", "f32[2]"}), "`take` of f32[2] and f32[2]: the indices must be integers");
  EXPECT_EQ(refusal("take", {"f32[2, 2]", "i32[2]"}), "`take` of f32[2, 2] and i32[2]: needs an axis unless x has exactly one");
}

TEST(OneHot, OutsideIsAllZero) {
  const Array hot = call_op("one_hot", {Array::of<std::int32_t>({4}, {1, -1, 3, 0})}, {{"depth", std::int64_t{3}}});
  EXPECT_EQ(hot.type(), (TensorType{DType::f32, {4, 3}}));
  EXPECT_THAT(elements(hot), ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(refusal("one_hot", {"i32[2]"}, {{"depth", std::int64_t{-1}}}), HasSubstr("must not be negative"));
}

TEST(JoiningOps, ConcatStackPadRepeatTile) {
  const Array q = counting({2, 3});
  EXPECT_THAT(elements(call_op("concat", {q, counting({2, 1}, 20)}, along(1))), ElementsAre(0, 1, 2, 20, 3, 4, 5, 21));
  EXPECT_THAT(elements(call_op("concat", {q, counting({1, 3}, 7)})), ElementsAre(0, 1, 2, 3, 4, 5, 7, 8, 9));
  EXPECT_THAT(elements(call_op("stack", {q, counting({2, 3}, 10)}, along(1))), ElementsAre(0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15));
  EXPECT_EQ(call_op("stack", {q, q}, along(-1)).shape(), (Shape{2, 3, 2}));
  EXPECT_THAT(elements(call_op("pad", {q}, {{"widths", Integers{1, 0, 0, 2}}, {"value", std::int64_t{9}}})),
              ElementsAre(9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9, 9));
  EXPECT_EQ(call_op("pad", {q}, {{"widths", std::int64_t{1}}}).shape(), (Shape{4, 5}));
  EXPECT_THAT(elements(call_op("repeat", {q}, {{"repeats", std::int64_t{2}}, {"axis", std::int64_t{1}}})),
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
  EXPECT_THAT(elements(call_op("repeat", {q}, {{"repeats", std::int64_t{2}}})), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  const Array tiled = call_op("tile", {q}, {{"repetitions", Integers{2, 1, 2}}});
  EXPECT_EQ(tiled.shape(), (Shape{2, 2, 6}));
  EXPECT_THAT(elements(tiled), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_THAT(elements(call_op("tile", {q}, {{"repetitions", std::int64_t{2}}})), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_EQ(refusal("concat", {"f32[2]", "f32[2, 1]"}), "`concat` of f32[2] and f32[2, 1]: the operands differ in their number of axes");
  EXPECT_EQ(refusal("concat", {"f32[2, 3]", "f32[3, 2]"}), "`concat` of f32[2, 3] and f32[3, 2]: the operands differ in axis 1");
  EXPECT_EQ(refusal("stack", {"f32[2]", "f32[3]"}), "`stack` of f32[2] and f32[3]: the operands differ in axis 0");
  EXPECT_EQ(refusal("pad", {"f32[2, 3]"}, {{"widths", Integers{1, 2}}}),
            "`pad` of f32[2, 3]: `widths` takes one number, or two (before, after) for each axis");
  EXPECT_THAT(refusal("repeat", {"f32[2]"}, {{"repeats", kEnd}}), HasSubstr("would be too large"));
  EXPECT_THAT(refusal("tile", {"f32[2]"}, {{"repetitions", Integers{-1}}}), HasSubstr("must not be negative"));
}

TEST(CreationOps, ValuesAndTypes) {
  const auto arange = [](const Attributes& attributes) { return call_op("arange", {}, attributes); };
  EXPECT_EQ(arange({{"start", std::int64_t{4}}}), counting({4}));
  EXPECT_EQ(arange({{"start", std::int64_t{10}}, {"stop", std::int64_t{0}}, {"step", std::int64_t{-3}}}),
            Array::of<std::int32_t>({4}, {10, 7, 4, 1}));
  EXPECT_EQ(arange({{"start", 1.0}, {"stop", -0.3}, {"step", -0.25}}), Array::of<float>({6}, {1, 0.75, 0.5, 0.25, 0, -0.25}));
  EXPECT_EQ(arange({{"start", std::int64_t{5}}, {"stop", std::int64_t{2}}}).size(), 0);
  EXPECT_EQ(arange({{"start", std::int64_t{2}}, {"dtype", DType::f64}}), Array::of<double>({2}, {0, 1}));
  EXPECT_EQ(refusal("arange", {}, {{"start", std::int64_t{2}}, {"stop", std::int64_t{3}}, {"step", std::int64_t{0}}}),
            "`arange`: a step of 0");
  EXPECT_THAT(refusal("arange", {}, {{"start", 1e30}}), HasSubstr("would be too large"));
  EXPECT_THAT(refusal("arange", {}, {{"start", kBegin}, {"stop", kEnd}}), HasSubstr("would be too large"));
  EXPECT_THAT(refusal("arange", {}, {{"start", std::numeric_limits<double>::quiet_NaN()}}), HasSubstr("would be too large"));
  EXPECT_EQ(refusal("arange", {}, {{"start", true}}), "`arange`: `start`, `stop` and `step` must be numbers");
  EXPECT_EQ(refusal("arange", {}, {{"start", std::int64_t{3'000'000'000}}, {"stop", std::int64_t{3'000'000'002}}}),
            "`arange`: `3000000000` does not fit in i32; `dtype=` chooses another type");
  EXPECT_THAT(refusal("arange", {}, {{"start", std::int64_t{257}}, {"dtype", DType::u8}}), HasSubstr("`256` does not fit in u8"));
  EXPECT_EQ(arange({{"start", std::int64_t{256}}, {"dtype", DType::u8}}).size(), 256);

  EXPECT_EQ(call_op("zeros", {}, {{"shape", Integers{2}}}), Array::of<float>({2}, {0, 0}));
  EXPECT_EQ(call_op("ones", {}, {{"shape", std::int64_t{2}}, {"dtype", DType::u8}}), Array::of<std::uint8_t>({2}, {1, 1}));
  EXPECT_EQ(call_op("full", {}, {{"shape", Integers{}}, {"value", std::int64_t{7}}}), Array::scalar<std::int32_t>(7));
  EXPECT_THAT(refusal("full", {}, {{"shape", Integers{}}, {"value", std::int64_t{1} << 40}}), HasSubstr("does not fit in i32"));
  EXPECT_EQ(call_op("full", {}, {{"shape", Integers{1}}, {"value", 0.5}}), Array::of<float>({1}, {0.5F}));
  EXPECT_EQ(call_op("full", {}, {{"shape", Integers{1}}, {"value", true}}), Array::of<bool>({1}, {true}));
  EXPECT_EQ(call_op("full", {}, {{"shape", Integers{1}}, {"value", 2.9}, {"dtype", DType::i32}}), Array::of<std::int32_t>({1}, {2}));
  EXPECT_EQ(call_op("eye", {}, {{"rows", std::int64_t{2}}, {"columns", std::int64_t{3}}}), Array::of<float>({2, 3}, {1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(refusal("zeros", {}, {{"shape", Integers{-2}}}), "`zeros`: the result f32[-2] would have a negative extent");
  EXPECT_EQ(refusal("zeros", {}), "`zeros` needs the attribute `shape`");
  EXPECT_THAT(refusal("ones", {}, {{"shape", Integers{kEnd, 8}}}), HasSubstr("would be too large"));
  EXPECT_EQ(refusal("full", {}, {{"shape", Integers{1}}, {"value", std::string("a")}}), "`full`: `value` must be a number, true or false");
}

}  // namespace
}  // namespace cleave::testing
