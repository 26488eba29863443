// Layers of neural networks: convolutions, pools, normalizations and resizing. Shapes are batch, channels and then 1 to 3 spatial axes
// (NCHW); names, attributes and what they mean are ONNX's. One number for `strides`, `pads` or `dilations` is for all spatial axes; `pads`
// may also be a number an axis, for both its ends, or the numbers of all beginnings and then of all ends.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "graph/ops/ops.h"

namespace cleave {

/// A number for all spatial axes, or `{2, 1}`.
struct Extents {
  Extents(std::int64_t all) : list({all}) {}
  Extents(std::initializer_list<std::int64_t> each) : list(each) {}
  std::vector<std::int64_t> list;
};

/// `conv(x, weight, bias, {.strides = 2, .pads = 1})`
struct ConvOptions {
  Extents strides = 1;
  Extents pads = 0;
  Extents dilations = 1;
  std::string auto_pad = "notset";  ///< or "valid", "same_upper", "same_lower": as many windows as elements at each stride
  std::int64_t group = 1;           ///< channels and outputs are cut into so many; as many as channels: depthwise
};
/// `max_pool(x, 3, {.strides = 2, .pads = 1})`
struct PoolOptions {
  Extents strides = 1;
  Extents pads = 0;
  Extents dilations = 1;
  std::string auto_pad = "notset";
  bool ceil_mode = false;  ///< a last window that reaches past the end counts
};
struct AvgPoolOptions {
  Extents strides = 1;
  Extents pads = 0;
  Extents dilations = 1;
  std::string auto_pad = "notset";
  bool ceil_mode = false;
  bool count_include_pad = false;  ///< padding counts as elements that are zero
};

/// `conv_transpose(x, weight, bias, {.strides = 2})`
struct ConvTransposeOptions {
  Extents strides = 1;
  Extents pads = 0;  ///< so much of the result is cut away at its ends
  Extents dilations = 1;
  Extents output_padding = 0;  ///< so much is added behind
  std::int64_t group = 1;
};
struct NormOptions {
  double epsilon = 1e-5;  ///< added to the mean square
};
/// `layer_norm(x, scale, bias, {.axis = -1})`
struct RowNormOptions {
  int axis = -1;  ///< the first of the normalized axes
  double epsilon = 1e-5;
};
struct LpNormOptions {
  int axis = -1;
  int p = 2;  ///< or 1
};
/// `resize(x, {.sizes = {64, 64}, .mode = "linear"})`
struct ResizeOptions {
  std::optional<std::vector<std::int64_t>> sizes = {};  ///< of the last axes, as many as there are numbers
  std::optional<std::vector<double>> scales = {};       ///< or by how much they grow; the result is rounded down. With both, `sizes` is
                                                        ///< what the result is like, and `scales` says where elements come from
  std::string mode = "nearest";                         ///< "linear", "cubic"
  std::string coordinate_transformation_mode = "half_pixel";  ///< "pytorch_half_pixel", "align_corners", "asymmetric", …
  std::string nearest_mode = "round_prefer_floor";            ///< "round_prefer_ceil", "floor", "ceil"
  double cubic_coeff_a = -0.75;
  bool exclude_outside = false;                 ///< elements past the ends have no weight; else they are as the last one
  bool antialias = false;                       ///< what becomes smaller is a mean of all that it was
  std::optional<std::vector<double>> roi = {};  ///< of "tf_crop_and_resize": where each axis begins, and then where each ends, 0 to 1
  double extrapolation_value = 0;               ///< what is outside of x, of "tf_crop_and_resize"
};

/// Convolution (no kernel is flipped): x[n, c, h, w] with weight[o, c / group, kh, kw] -> [n, o, h', w']; `bias[o]` is added. Sums are
/// taken in the element type (f16 and bf16: in f32). Integers give f32. Error `shape`: channels that do not fit the weight or do not divide
/// into the groups, a window larger than x; `value`: attributes out of range.
///   Tensor y = relu(conv(x, weight, bias, {.strides = 2, .pads = 1}));
Tensor conv(const Tensor& x, const Tensor& weight, const ConvOptions& options = {}, Here here = Here::now());
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options = {}, Here here = Here::now());

/// Transposed convolution: x[n, c, h, w] with weight[c, o / group, kh, kw] -> [n, o, h', w'], where h' is
/// stride * (h - 1) + output_padding + dilation * (kh - 1) + 1 less the pads. Traced into a convolution for each remainder by the strides.
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const ConvTransposeOptions& options = {}, Here here = Here::now());
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& options = {},
                      Here here = Here::now());

/// The largest element of each window: [n, c, h, w] -> [n, c, h', w']. Padding is never the largest; NaN where a window has one. Strides
/// are one if not given, as in ONNX. Error `shape`: a window larger than x; `value`: padding that would hold a whole window.
///   Tensor y = max_pool(x, 3, {.strides = 2, .pads = 1});
Tensor max_pool(const Tensor& x, const Extents& kernel_shape, const PoolOptions& options = {}, Here here = Here::now());
/// The mean of each window: of the elements of x in it, or of padding too.
Tensor avg_pool(const Tensor& x, const Extents& kernel_shape, const AvgPoolOptions& options = {}, Here here = Here::now());
/// Gradients by x and by weight of `conv(x, weight, options)` from `gradient`, that by its result. `extents` are the spatial ones of x,
/// `kernel_shape` those of weight, which the result does not tell where strides skip elements.
Tensor conv_input_gradient(const Tensor& gradient, const Tensor& weight, const Extents& extents, const ConvOptions& options = {},
                           Here here = Here::now());
Tensor conv_weight_gradient(const Tensor& x, const Tensor& gradient, const Extents& kernel_shape, const ConvOptions& options = {},
                            Here here = Here::now());
/// Gradient by x of `max_pool(x, kernel_shape, options)`: what belongs to a window goes to the first of its largest elements.
Tensor max_pool_gradient(const Tensor& x, const Tensor& gradient, const Extents& kernel_shape, const PoolOptions& options = {},
                         Here here = Here::now());
/// For each window of `max_pool(x, kernel_shape, options)`, the element of `values` where x is largest.
Tensor max_pool_gather(const Tensor& x, const Tensor& values, const Extents& kernel_shape, const PoolOptions& options = {},
                       Here here = Here::now());
/// Gradient by x, of the spatial `extents`, of `avg_pool(x, kernel_shape, options)`.
Tensor avg_pool_gradient(const Tensor& gradient, const Extents& extents, const Extents& kernel_shape, const AvgPoolOptions& options = {},
                         Here here = Here::now());
/// The largest element, or the mean, of each channel: [n, c, h, w] -> [n, c, 1, 1].
Tensor global_max_pool(const Tensor& x, Here here = Here::now());
Tensor global_average_pool(const Tensor& x, Here here = Here::now());

// Normalizations of x, traced into means and arithmetic. Statistics of f16 and bf16 are taken in f32. scale and bias have a number for each
// channel; those of layer_norm and rms_norm broadcast to the normalized axes.
//   Tensor y = layer_norm(x, scale, bias);
/// With a mean and a variance that are given, as in inference: (x - mean) / sqrt(variance + epsilon) * scale + bias.
Tensor batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean, const Tensor& variance,
                  const NormOptions& options = {}, Here here = Here::now());
/// x less its mean over the axes from `axis` on, divided by its deviation.
Tensor layer_norm(const Tensor& x, const RowNormOptions& options = {}, Here here = Here::now());
Tensor layer_norm(const Tensor& x, const Tensor& scale, const RowNormOptions& options = {}, Here here = Here::now());
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const RowNormOptions& options = {}, Here here = Here::now());
/// x divided by the root of its mean square over the axes from `axis` on.
Tensor rms_norm(const Tensor& x, const RowNormOptions& options = {}, Here here = Here::now());
Tensor rms_norm(const Tensor& x, const Tensor& scale, const RowNormOptions& options = {}, Here here = Here::now());
/// As layer_norm, over groups of channels, and over each channel.
Tensor group_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t num_groups, const NormOptions& options = {},
                  Here here = Here::now());
Tensor instance_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const NormOptions& options = {}, Here here = Here::now());
/// x divided by its p-norm along an axis; lines of zeros stay.
Tensor lp_norm(const Tensor& x, const LpNormOptions& options = {}, Here here = Here::now());

/// x with its last axes made larger or smaller: [1, 3, 32, 32] with sizes {64, 64} -> [1, 3, 64, 64]. Error `value`: not exactly one of
/// sizes and scales, or a mode that does not exist; `type`: integers that are to be mixed.
Tensor resize(const Tensor& x, const ResizeOptions& options, Here here = Here::now());

}  // namespace cleave
