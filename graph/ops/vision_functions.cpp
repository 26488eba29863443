// The functions of vision.h. Each records a call: the name of the op, its operands and its attributes.
#include "graph/ops/calls.h"
#include "graph/ops/vision.h"

namespace cleave {

using ops::call;

Nonzero nonzero(const Tensor& x, std::optional<std::int64_t> size, Here here) {
  Attributes attributes;
  if (size) attributes.set("size", *size);
  return ops::call_two<Nonzero>(op::nonzero, std::span(&x, 1), std::move(attributes), here);
}

Suppressed non_max_suppression(const Tensor& boxes, const Tensor& scores, std::int64_t max_output_boxes_per_class,
                               const SuppressionOptions& options, Here here) {
  Attributes attributes = {{"max_output_boxes_per_class", max_output_boxes_per_class},
                           {"iou_threshold", options.iou_threshold},
                           {"center_point_box", options.center_point_box}};
  if (options.score_threshold) attributes.set("score_threshold", *options.score_threshold);
  const Tensor inputs[] = {boxes, scores};
  return ops::call_two<Suppressed>(op::non_max_suppression, inputs, std::move(attributes), here);
}

Tensor roi_align(const Tensor& x, const Tensor& regions, const Tensor& images, const RoiAlignOptions& options, Here here) {
  return call(op::roi_align, {x, regions, images},
              {{"output_height", options.output_height},
               {"output_width", options.output_width},
               {"sampling_ratio", options.sampling_ratio},
               {"spatial_scale", options.spatial_scale},
               {"mode", std::string(options.max ? "max" : "avg")},
               {"coordinates", std::string(options.half_pixel ? "half_pixel" : "output_half_pixel")}},
              here);
}

Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options, Here here) {
  const char* mode = options.mode == Interpolation::linear ? "linear" : options.mode == Interpolation::nearest ? "nearest" : "cubic";
  const char* padding = options.padding == Padding::zeros ? "zeros" : options.padding == Padding::border ? "border" : "reflection";
  return call(op::grid_sample, {x, grid},
              {{"mode", std::string(mode)}, {"padding", std::string(padding)}, {"align_corners", options.align_corners}}, here);
}

}  // namespace cleave
