// Results of convolutions and pools, worked out by hand, and refused calls: the error says which number is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Integers = std::vector<std::int64_t>;

TEST(Convolution, SumsOverWindowsWithoutFlipping) {
  const Array x = Array::of<float>({1, 1, 4}, {1, 2, 3, 4}), weight = Array::of<float>({1, 1, 2}, {10, 1});
  EXPECT_THAT(elements(call_op("conv", {x, weight})), ElementsAre(12, 23, 34));
  EXPECT_THAT(elements(call_op("conv", {x, weight}, {{"pads", Integers{1, 0}}, {"strides", Integers{2}}})), ElementsAre(1, 23));
  EXPECT_THAT(elements(call_op("conv", {x, weight}, {{"dilations", Integers{2}}})), ElementsAre(13, 24));
  EXPECT_THAT(elements(call_op("conv", {x, weight}, {{"auto_pad", std::string("same_upper")}})), ElementsAre(12, 23, 34, 40));
  EXPECT_THAT(elements(call_op("conv", {x, weight}, {{"auto_pad", std::string("same_lower")}})), ElementsAre(1, 12, 23, 34));
  const Array bias = Array::of<float>({2}, {100, 200});
  EXPECT_THAT(elements(call_op("conv", {Array::of<float>({1, 2, 2}, {1, 2, 3, 4}), Array::of<float>({2, 1, 2}, {1, 1, 1, -1}), bias},
                               {{"group", std::int64_t{2}}})),
              ElementsAre(103, 199));
}

TEST(Convolution, WrongNumbersAreNamed) {
  const auto refused = [](std::vector<std::string> inputs, const Attributes& attributes) { return refusal("conv", inputs, attributes); };
  const std::string x = "f32[1, 6, 8, 8]", weight = "f32[4, 6, 3, 3]";
  EXPECT_EQ(refused({x, "f32[4, 5, 3, 3]"}, {}),
            "`conv` of f32[1, 6, 8, 8] and f32[4, 5, 3, 3]: weight is for 5 channels a group, x has 6");
  EXPECT_THAT(refused({x, weight}, {{"group", std::int64_t{4}}}), HasSubstr("the 6 channels of x do not divide into 4 groups"));
  EXPECT_THAT(refused({x, "f32[4, 2, 3, 3]"}, {{"group", std::int64_t{3}}}),
              HasSubstr("the 4 outputs of weight do not divide into 3 groups"));
  EXPECT_THAT(refused({x, weight}, {{"group", std::int64_t{0}}}), HasSubstr("`group` must be positive, not 0"));
  EXPECT_THAT(refused({x, weight, "f32[6]"}, {}), HasSubstr("bias must have the shape [4]"));
  EXPECT_THAT(refused({x, weight}, {{"pads", Integers{-1}}}), HasSubstr("`pads` must be 0 or more, not -1"));
  EXPECT_THAT(refused({x, weight}, {{"pads", Integers{1, 2, 3}}}), HasSubstr("`pads` has 3 numbers for 2 spatial axes"));
  EXPECT_THAT(refused({x, weight}, {{"strides", Integers{1, 0}}}), HasSubstr("`strides` must be positive, not 0"));
  EXPECT_THAT(refused({x, weight}, {{"dilations", Integers{1, 2, 1}}}),
              HasSubstr("`dilations` has 3 numbers for 2 spatial axes; give one, or one an axis"));
  EXPECT_THAT(refused({x, weight}, {{"dilations", Integers{1, 4}}}),
              HasSubstr("the window of 9 is larger than the 8 elements, padding included, on spatial axis 1"));
  EXPECT_THAT(refused({x, weight}, {{"auto_pad", std::string("samey")}}), HasSubstr("not samey"));
  EXPECT_THAT(refused({x, weight}, {{"auto_pad", std::string("valid")}, {"pads", Integers{1}}}), HasSubstr("both given"));
  EXPECT_THAT(refused({x, "f32[4, 6, 3, 0]"}, {}), HasSubstr("the window has 0 elements on spatial axis 1"));
  EXPECT_THAT(refused({"f32[6, 8]", "f32[4, 6]"}, {}), HasSubstr("1 to 3 spatial axes, not 2 axes"));
  EXPECT_THAT(refused({x, "f32[4, 6, 3]"}, {}), HasSubstr("as many axes as x"));
  EXPECT_THAT(refused({"f32[1, 6, 1, 1]", "f32[4, 6, 1, 1]"}, {{"pads", Integers{std::int64_t{1} << 40}}}),
              HasSubstr("would be too large"));
  EXPECT_THAT(refused({x, weight}, {{"pads", Integers{std::int64_t{1} << 62}}}), HasSubstr("is too large"));
}

/// Values of PyTorch 2.15. A window may be larger than its input if, by rounding up, the last window begins inside the input and is
/// counted.
TEST(Pools, TakeAWindowLargerThanTheInputThatIsRoundedUp) {
  const Array x = Array::of<float>({1, 1, 3}, {1, 2, 3});
  const auto pooled = [&](const char* op, std::int64_t stride, bool padding = false) {
    Attributes how{{"kernel_shape", Integers{5}}, {"strides", Integers{stride}}, {"ceil_mode", true}};
    if (padding) how.set("count_include_pad", true);
    return elements(call_op(op, {x}, how));
  };
  for (const std::int64_t stride : {3, 4, 9}) {
    EXPECT_THAT(pooled("max_pool", stride), ElementsAre(3));
    EXPECT_THAT(pooled("avg_pool", stride), ElementsAre(2));
    EXPECT_THAT(pooled("avg_pool", stride, true), ElementsAre(2));
  }
  EXPECT_EQ(refusal("max_pool", {"f32[1, 1, 3]"}, {{"kernel_shape", Integers{5}}, {"strides", Integers{2}}, {"ceil_mode", true}}),
            "`max_pool` of f32[1, 1, 3]: the window of 5 is larger than the 3 elements, padding included, on spatial axis 0");
}

TEST(Pools, TakeTheLargestOrTheMean) {
  const Array x = Array::of<float>({1, 1, 5}, {1, 5, 2, -3, -4});
  const Integers three = {3}, two = {2};
  EXPECT_THAT(elements(call_op("max_pool", {x}, {{"kernel_shape", three}})), ElementsAre(5, 5, 2));
  EXPECT_THAT(elements(call_op("max_pool", {x}, {{"kernel_shape", three}, {"strides", two}, {"pads", Integers{1}}})),
              ElementsAre(5, 5, -3));
  EXPECT_THAT(elements(call_op("avg_pool", {x}, {{"kernel_shape", two}, {"strides", two}})), ElementsAre(3, -0.5));
  EXPECT_THAT(elements(call_op("avg_pool", {x}, {{"kernel_shape", two}, {"strides", two}, {"ceil_mode", true}})), ElementsAre(3, -0.5, -4));
  EXPECT_THAT(elements(call_op("avg_pool", {x}, {{"kernel_shape", two}, {"strides", two}, {"pads", Integers{1}}})),
              ElementsAre(1, 3.5, -3.5));
  EXPECT_THAT(
      elements(call_op("avg_pool", {x}, {{"kernel_shape", two}, {"strides", two}, {"pads", Integers{1}}, {"count_include_pad", true}})),
      ElementsAre(0.5, 3.5, -3.5));
}

TEST(Pools, WrongNumbersAreNamed) {
  EXPECT_THAT(refusal("max_pool", {"f32[1, 1, 4]"}, {{"kernel_shape", Integers{5}}}),
              HasSubstr("the window of 5 is larger than the 4 elements"));
  EXPECT_THAT(refusal("avg_pool", {"f32[1, 1, 4]"}, {{"kernel_shape", Integers{2}}, {"pads", Integers{2}}}),
              HasSubstr("a padding of 2 would hold the whole window of 2"));
  EXPECT_THAT(refusal("max_pool", {"f32[1, 1, 4]"}, {{"kernel_shape", Integers{2, 2}}}), HasSubstr("`kernel_shape` has 2 numbers"));
  EXPECT_THAT(refusal("max_pool", {"f32[1, 4]"}, {{"kernel_shape", Integers{2}}}), HasSubstr("1 to 3 spatial axes"));
}

}  // namespace
}  // namespace cleave::testing
