// Samples of the ops for object detection and image warping.
#include <cmath>

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {

namespace {

/// Boxes that overlap, and scores of which some are equal.
void add_suppressions(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    s.add("non_max_suppression", {s.numbers(dtype, {2, 9, 4}, {0, 2}), s.numbers(dtype, {2, 3, 9}, {0, 1})},
          {{"max_output_boxes_per_class", std::int64_t{4}}, {"iou_threshold", 0.3}});
    s.add(
        "non_max_suppression", {s.numbers(dtype, {1, 20, 4}, {0.5, 2}), s.numbers(dtype, {1, 1, 20}, {0, 1})},
        {{"max_output_boxes_per_class", std::int64_t{100}}, {"iou_threshold", 0.5}, {"score_threshold", 0.25}, {"center_point_box", true}});
  }
  const Array equal(TensorType{f32, {1, 2, 700}});
  s.add("non_max_suppression", {s.numbers(f32, {1, 700, 4}, {0, 9}), equal},
        {{"max_output_boxes_per_class", std::int64_t{50}}, {"iou_threshold", 0.2}});
  s.add("non_max_suppression", {s.numbers(f32, {1, 0, 4}), s.numbers(f32, {1, 2, 0})}, {{"max_output_boxes_per_class", std::int64_t{3}}});
  s.add("non_max_suppression", {s.numbers(f32, {1, 3, 4}), s.numbers(f32, {1, 2, 3})}, {{"max_output_boxes_per_class", std::int64_t{0}}});
}

void add_regions(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    for (const char* mode : {"avg", "max"}) {
      for (const char* coordinates : {"half_pixel", "output_half_pixel"}) {
        const Attributes attributes = {{"output_height", std::int64_t{2}},
                                       {"output_width", std::int64_t{3}},
                                       {"spatial_scale", 0.5},
                                       {"mode", std::string(mode)},
                                       {"coordinates", std::string(coordinates)}};
        s.add("roi_align", {s.numbers(dtype, {2, 3, 7, 6}), s.numbers(dtype, {4, 4}, {-2, 14}), s.indices(i64, {4}, 2)}, attributes);
        Attributes fixed = attributes;
        fixed.set("sampling_ratio", std::int64_t{2});
        s.add("roi_align", {s.numbers(dtype, {1, 2, 9, 9}), s.numbers(dtype, {5, 4}, {0, 18}), s.indices(i32, {5}, 1)}, fixed);
      }
    }
  }
  s.add("roi_align", {s.numbers(f32, {2, 3, 7, 6}), s.numbers(f32, {0, 4}), s.indices(i64, {0}, 2)});
}

void add_grids(Samples& s) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    for (const char* mode : {"linear", "nearest", "cubic"}) {
      for (const char* padding : {"zeros", "border", "reflection"}) {
        for (const bool align : {false, true}) {
          s.add("grid_sample", {s.numbers(dtype, {2, 2, 5, 4}), s.numbers(dtype, {2, 3, 4, 2}, {-1.9, 1.9})},
                {{"mode", std::string(mode)}, {"padding", std::string(padding)}, {"align_corners", align}});
        }
      }
    }
  }
  s.add("grid_sample", {s.numbers(f32, {1, 1, 0, 4}), s.numbers(f32, {1, 2, 2, 2})});
  s.add("grid_sample", {s.numbers(f32, {1, 3, 4, 4}), s.numbers(f32, {1, 0, 2, 2})});
  const Array wild = Array::of<float>({1, 1, 4, 2}, {NAN, 0, INFINITY, -INFINITY, 1e30F, 0, 0, -1e30F});
  for (const char* padding : {"zeros", "border", "reflection"})
    s.add("grid_sample", {s.numbers(f32, {1, 1, 4, 4}, {1, 2}), wild},
          {{"padding", std::string(padding)}, {"mode", std::string("nearest")}}, true);
}

}  // namespace

void add_vision(Samples& s) {
  for (const DType dtype : kAllTypes) {
    s.add("nonzero", {s.numbers(dtype, {9})});
    s.add("nonzero", {s.numbers(dtype, {4, 5, 3})}, {{"size", std::int64_t{20}}});
  }
  s.add("nonzero", {s.numbers(boolean, {30, 40})}, {{"size", std::int64_t{2000}}});
  s.add("nonzero", {s.numbers(f32, {0, 3})}, {{"size", std::int64_t{4}}});
  add_suppressions(s);
  add_regions(s);
  add_grids(s);
}

}  // namespace cleave::testing
