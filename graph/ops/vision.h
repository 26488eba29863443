// Functions of the tracing API for detectors and warps, with the semantics of ONNX. Where ONNX has a result of data-dependent size, the
// result here has the largest possible size and comes with a count.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

struct Nonzero {
  Tensor positions, count;  ///< i64 [axes of x, size]; how many there are in all, an i32 scalar
};
/// Positions of the nonzero elements of x, in row-major order. Without `size` a run gives as many as there are; with it, `size` positions,
/// of which those behind the last are 0. Error `shape`: a scalar.
///   auto [positions, count] = nonzero(mask, 100);
Nonzero nonzero(const Tensor& x, std::optional<std::int64_t> size = {}, Here here = Here::now());

/// `compress(mask, x, {.axis = 0, .size = 100})`
struct CompressOptions {
  std::optional<int> axis = {};           ///< absent: over all elements of x in order
  std::optional<std::int64_t> size = {};  ///< the largest possible number (default: that of the conditions)
};
/// The elements of x along an axis where `condition`, a vector, is not 0. The type has `size` elements along the axis; a run gives as many
/// as there are, and functions of the result see only these. A run that finds more than `size` ends with an Error at this call. Errors:
/// `shape` (a condition that is not a vector, or longer than the axis; no such axis), `value` (a negative size).
///   Tensor chosen = compress(scores > 0.5, boxes, {.axis = 0});   // boxes[scores > 0.5]
Tensor compress(const Tensor& condition, const Tensor& x, const CompressOptions& options = {}, Here here = Here::now());

/// `non_max_suppression(boxes, scores, 20, {.iou_threshold = 0.5})`
struct SuppressionOptions {
  double iou_threshold = 0;                    ///< boxes whose intersection over union exceeds this are duplicates
  std::optional<double> score_threshold = {};  ///< only boxes with a greater score
  bool center_point_box = false;               ///< boxes are x and y of their centre, width, height; else y1, x1, y2, x2
};
struct Suppressed {
  Tensor selected, count;  ///< i64 rows of batch, class and box, -1 behind the last; how many, an i32 scalar
};
/// The boxes [batches, boxes, 4] with the best of their scores [batches, classes, boxes], without those that overlap a better one of the
/// class: at most so many of each class of each batch. Equal scores keep their order.
Suppressed non_max_suppression(const Tensor& boxes, const Tensor& scores, std::int64_t max_output_boxes_per_class,
                               const SuppressionOptions& options = {}, Here here = Here::now());

/// `roi_align(x, regions, images, {.output_height = 7, .output_width = 7, .spatial_scale = 0.0625})`
struct RoiAlignOptions {
  std::int64_t output_height = 1, output_width = 1;
  std::int64_t sampling_ratio = 0;  ///< samples along each axis of a bin; 0: as many as the bin has elements, rounded up
  double spatial_scale = 1;         ///< from the regions' coordinates to those of x
  bool max = false;                 ///< maximum in place of the mean
  bool half_pixel = true;           ///< false: coordinates are not moved by half an element, and regions are at least one element large
};
/// Bins of the regions [n, 4] (x1, y1, x2, y2) of the images [n] of x [images, channels, rows, columns], by linear interpolation:
/// [n, channels, output_height, output_width].
Tensor roi_align(const Tensor& x, const Tensor& regions, const Tensor& images, const RoiAlignOptions& options = {},
                 Here here = Here::now());

enum class Interpolation : std::uint8_t { linear, nearest, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };  ///< what is outside
struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false;  ///< -1 and 1 are the centres of the outermost elements; else their outer edges
};
/// x [n, channels, rows, columns] at the places of a grid [n, height, width, 2] of columns and rows from -1 to 1:
/// [n, channels, height, width].
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options = {}, Here here = Here::now());

}  // namespace cleave
