// nonzero, non_max_suppression, roi_align and grid_sample: what is given, what is refused, and which index an error names. tests/reference
// compares them with NumPy and ONNX.
#include "graph/ops/vision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/trace/trace.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<double>> both(const char* op, const std::vector<Array>& inputs, const Attributes& attributes = {}) {
  const auto results = call_op(*find_op(op), inputs, attributes);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().message);
  if (!results.ok()) return {{}, {}};
  return {elements((*results)[0]), elements((*results)[1])};
}

TEST(Nonzero, GivesPositionsAndHowManyThereAre) {
  const Array x = Array::of<std::int32_t>({2, 3}, {0, 4, 0, -1, 0, 2});
  const auto all = both("nonzero", {x});
  EXPECT_THAT(all[0], ElementsAre(0, 1, 1, 0, 0, 0, /* columns */ 1, 0, 2, 0, 0, 0));
  EXPECT_THAT(all[1], ElementsAre(3));
  const auto first = both("nonzero", {x}, {{"size", std::int64_t{2}}});
  EXPECT_THAT(first[0], ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(first[1], ElementsAre(3)) << "how many there are, not how many were kept";
  EXPECT_EQ(refusal("nonzero", {"f32[]"}), "`nonzero` of f32[]: a scalar has no positions");
  EXPECT_EQ(refusal("nonzero", {"f32[2]"}, {{"size", std::int64_t{-1}}}), "`nonzero` of f32[2]: `size` must not be negative, as -1 is");
  EXPECT_EQ(refusal("nonzero", {"f32[3000000000]"}), "`nonzero` of f32[3000000000]: too many elements for an i32 count");
}

TEST(NonMaxSuppression, KeepsTheBestOfBoxesThatOverlap) {
  const Array boxes = Array::of<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 5, 5, 6, 6, /* turned round */ 1, 1, 0, 0});
  const Array scores = Array::of<float>({1, 1, 4}, {0.5F, 0.9F, 0.9F, 0.1F});
  const auto kept = both("non_max_suppression", {boxes, scores}, {{"max_output_boxes_per_class", std::int64_t{9}}, {"iou_threshold", 0.5}});
  EXPECT_THAT(kept[0], ElementsAre(0, 0, 1, 0, 0, 2, -1, -1, -1, -1, -1, -1)) << "equal scores keep their order";
  EXPECT_THAT(kept[1], ElementsAre(2));
  const auto above = both("non_max_suppression", {boxes, scores},
                          {{"max_output_boxes_per_class", std::int64_t{9}}, {"iou_threshold", 1.0}, {"score_threshold", 0.1}});
  EXPECT_THAT(above[1], ElementsAre(3)) << "a score of 0.1 is no greater than 0.1, as f32 has it";
}

TEST(NonMaxSuppression, RefusesWhatCannotBe) {
  const Attributes most = {{"max_output_boxes_per_class", std::int64_t{3}}};
  EXPECT_EQ(refusal("non_max_suppression", {"f32[1, 5, 3]", "f32[1, 2, 5]"}, most),
            "`non_max_suppression` of f32[1, 5, 3] and f32[1, 2, 5]: boxes are [batches, boxes, 4]");
  EXPECT_EQ(refusal("non_max_suppression", {"f32[1, 5, 4]", "f32[1, 2, 6]"}, most),
            "`non_max_suppression` of f32[1, 5, 4] and f32[1, 2, 6]: scores are [batches, classes, boxes], here [1, classes, 5]");
  EXPECT_EQ(refusal("non_max_suppression", {"i32[1, 5, 4]", "i32[1, 2, 5]"}, most),
            "`non_max_suppression` of i32[1, 5, 4] and i32[1, 2, 5]: boxes and scores must be floating");
  Attributes wrong = most;
  wrong.set("iou_threshold", 1.5);
  EXPECT_EQ(refusal("non_max_suppression", {"f32[1, 5, 4]", "f32[1, 2, 5]"}, wrong),
            "`non_max_suppression` of f32[1, 5, 4] and f32[1, 2, 5]: `iou_threshold` is from 0 to 1, not 1.5");
  EXPECT_EQ(refusal("non_max_suppression", {"f32[1, 5, 4]", "f32[1, 2, 5]"}, {{"max_output_boxes_per_class", std::int64_t{-2}}}),
            "`non_max_suppression` of f32[1, 5, 4] and f32[1, 2, 5]: `max_output_boxes_per_class` must not be negative, as -2 is");
  EXPECT_NE(refusal("non_max_suppression", {"f32[2000000000, 1, 4]", "f32[2000000000, 2, 1]"}, most), "");
}

TEST(RoiAlign, NamesAnImageThatIsNotThere) {
  const Array x(TensorType{DType::f32, {2, 1, 4, 4}}), regions(TensorType{DType::f32, {2, 4}});
  for (const std::int64_t image : {2, -3}) {
    const auto result = call_op(*find_op("roi_align"), {x, regions, Array::of<std::int64_t>({2}, {-2, image})});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "`roi_align`: the index " + std::to_string(image) + " is outside its axis of [2]");
  }
  EXPECT_EQ(refusal("roi_align", {"f32[2, 1, 4, 4]", "f32[2, 4]", "i64[3]"}),
            "`roi_align` of f32[2, 1, 4, 4], f32[2, 4] and i64[3]: the regions are [n, 4], the images' numbers [n]");
  EXPECT_EQ(refusal("roi_align", {"f32[2, 1, 4, 4]", "f32[2, 4]", "i64[2]"}, {{"mode", std::string("mean")}}),
            "`roi_align` of f32[2, 1, 4, 4], f32[2, 4] and i64[2]: `mode` is one of avg, max, not `mean`");
  EXPECT_EQ(refusal("roi_align", {"f32[2, 1, 4, 4]", "f32[2, 4]", "i64[2]"}, {{"output_width", std::int64_t{0}}}),
            "`roi_align` of f32[2, 1, 4, 4], f32[2, 4] and i64[2]: `output_width` must be 1 or more, not 0");
  EXPECT_EQ(refusal("roi_align", {"f32[2, 1, 0, 4]", "f32[2, 4]", "i64[2]"}),
            "`roi_align` of f32[2, 1, 0, 4], f32[2, 4] and i64[2]: x has no elements to sample");
}

TEST(GridSample, TakesPlacesBetweenElements) {
  const Array x = Array::of<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const Array grid = Array::of<float>({1, 1, 3, 2}, {-1, -1, 0, 0, 1, 1});
  EXPECT_THAT(elements(call_op("grid_sample", {x, grid}, {{"align_corners", true}})), ElementsAre(1, 2.5, 4));
  EXPECT_THAT(elements(call_op("grid_sample", {x, grid})), ElementsAre(0.25, 2.5, 1)) << "half of what is outside is 0, along each axis";
  EXPECT_EQ(refusal("grid_sample", {"f32[1, 1, 2, 2]", "f32[2, 1, 3, 2]"}),
            "`grid_sample` of f32[1, 1, 2, 2] and f32[2, 1, 3, 2]: the grid is [n, height, width, 2], with as many n as x");
  EXPECT_EQ(refusal("grid_sample", {"f32[1, 1, 2, 2]", "f32[1, 1, 3, 2]"}, {{"mode", std::string("bicubic")}}),
            "`grid_sample` of f32[1, 1, 2, 2] and f32[1, 1, 3, 2]: `mode` is one of linear, nearest, cubic, not `bicubic`");
}

}  // namespace
}  // namespace cleave::testing
