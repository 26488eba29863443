// nonzero, non_max_suppression, roi_align and grid_sample: results, refused calls, and the index that an error names. tests/reference
// compares them with NumPy and ONNX.
#include "graph/ops/vision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

TEST(Compress, RefusesWhatCannotBe) {
  const auto refused = [](const TensorType& condition, const TensorType& x, const Attributes& attributes = {}) {
    const TypeResult ruled = infer(*find_function("compress"), std::vector{condition, x}, attributes);
    return ruled.index() == 1 ? std::get<1>(ruled).message : std::string("no error");
  };
  const DType boolean = DType::boolean, f32 = DType::f32;
  EXPECT_EQ(refused({boolean, {2, 2}}, {f32, {2, 2}}),
            "`compress` of bool[2, 2] and f32[2, 2]: the condition is a vector; reshape it, and the axes that it stands for");
  EXPECT_EQ(refused({boolean, {3}}, {f32, {2, 4}}, {{"axis", std::int64_t{0}}}),
            "`compress` of bool[3] and f32[2, 4]: there are 3 conditions for 2 elements");
  EXPECT_EQ(refused({boolean, {2}}, {f32, {2}}, {{"size", std::int64_t{-2}}}),
            "`compress` of bool[2] and f32[2]: `size` must not be negative, as -2 is");
  EXPECT_NE(refused({boolean, {2}}, {f32, {2}}, {{"axis", std::int64_t{1}}}), "no error");
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

/// Values of torch.nn.functional.grid_sample (PyTorch 2.15), mode="bicubic".
TEST(GridSample, TakesEachTapOfACubicByItself) {
  const Array x = Array::of<float>({1, 1, 3, 4}, {1, 5, -2, 4, 3, -1, 2, 0, -4, 6, 1, 7});
  const Array grid =
      Array::of<float>({1, 2, 4, 2}, {-1.2F, -1.1F, 1.3F, 0.9F, -0.95F, 1.15F, 0.2F, -1.05F, 1.02F, 1.02F, -3, 0.1F, 0.97F, -0.99F, 0, 0});
  struct Case {
    const char* padding;
    bool align;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {"zeros", false, {0.005293, -0.330830, -1.129405, -1.014682, 2.064788, 0, 1.792850, 0.312500}},
      {"zeros", true, {0.115858, 4.372854, -3.639772, -1.294243, 6.959302, 0, 3.900810, 0.312500}},
      {"border", false, {0.850337, 7.776343, -5.430020, -2.044856, 8.189045, 2.268748, 5.086702, 0.312500}},
      {"border", true, {0.383919, 6.939078, -3.875772, -1.343304, 7.230301, 2.547499, 3.749956, 0.312500}},
      {"reflection", false, {0.296614, 7.547482, -7.223539, -2.425512, 9.704020, 0.263299, 6.135076, 0.312500}},
      {"reflection", true, {2.038276, 4.452667, -3.516949, -1.232559, 6.977398, 0.378251, 3.961792, 0.312500}},
  };
  for (const Case& each : cases) {
    const Attributes how{{"mode", std::string("cubic")}, {"padding", std::string(each.padding)}, {"align_corners", each.align}};
    EXPECT_THAT(elements(call_op("grid_sample", {x, grid}, how)), ::testing::Pointwise(::testing::DoubleNear(2e-5), each.expected))
        << each.padding << (each.align ? " aligned" : "");
  }
}

/// Each sample of a bin of a region of a 2 by 2 image, one by one.
float naive_bin(const float* x, const float* region, int samples, bool largest) {
  const float left = region[0] - 0.5F, top = region[1] - 0.5F, width = region[2] - 0.5F - left, height = region[3] - 0.5F - top;
  float sum = 0;
  bool first = true;
  for (int j = 0; j < samples; ++j) {
    for (int i = 0; i < samples; ++i) {
      const auto n = static_cast<float>(samples);
      const float v = top + 0 * height + (static_cast<float>(j) + 0.5F) * height / n;
      const float h = left + 0 * width + (static_cast<float>(i) + 0.5F) * width / n;
      const bool there = v >= -1 && v <= 2 && h >= -1 && h <= 2;
      const float y = std::clamp(v, 0.0F, 1.0F), z = std::clamp(h, 0.0F, 1.0F);
      const float a = there ? (1 - y) * (1 - z) * x[0] : 0, b = there ? (1 - y) * z * x[1] : 0;
      const float c = there ? y * (1 - z) * x[2] : 0, d = there ? y * z * x[3] : 0;
      const float most = std::max(std::max(a, b), std::max(c, d));
      sum = !largest ? sum + (a + b + c + d) : first || most > sum ? most : sum;
      first = false;
    }
  }
  return largest ? sum : sum / static_cast<float>(samples * samples);
}

/// Samples outside of the image are 0, however many there are, and are not taken one by one.
TEST(RoiAlign, FindsNothingOutsideOfTheImage) {
  const Array x = Array::of<float>({1, 1, 2, 2}, {1, -2, -3, -4}), image = Array::of<std::int32_t>({1}, {0});
  const auto sampled = [&](const std::vector<float>& region, bool largest, std::int64_t samples) {
    return elements(call_op("roi_align", {x, Array::of<float>({1, 4}, region), image},
                            {{"sampling_ratio", samples}, {"mode", std::string(largest ? "max" : "avg")}}))[0];
  };
  for (const bool largest : {false, true}) {
    EXPECT_EQ(sampled({-1e9F, -1e9F, 1e9F, 1e9F}, largest, 0), 0);
    EXPECT_EQ(sampled({1e9F, 0, -1e9F, 1e9F}, largest, 0), 0) << "turned round";
    EXPECT_EQ(sampled({0, 0, INFINITY, NAN}, largest, 0), 0);
    for (const auto& region : std::vector<std::vector<float>>{
             {-9, -9, 11, 11}, {11, -9, -9, 11}, {0.2F, 0.3F, 1.5F, 40}, {-3, 1, 1, 1.5F}, {1.2F, 1.2F, 1.2F, 1.3F}, {-5, -5, -2, -2}}) {
      for (const int samples : {1, 2, 7, 60})
        EXPECT_EQ(sampled(region, largest, samples), naive_bin(x.data<float>(), region.data(), samples, largest))
            << ::testing::PrintToString(region) << " " << samples << (largest ? " max" : " avg");
    }
  }
}

}  // namespace
}  // namespace cleave::testing
