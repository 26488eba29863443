// The functions of neural.h. Each records a call: the name of the op, its operands and its attributes.
#include "graph/ops/neural.h"

#include "graph/ops/calls.h"

namespace cleave {
namespace {

template <class Options>
Attributes window(const Options& options) {
  return {{"strides", options.strides.list},
          {"pads", options.pads.list},
          {"dilations", options.dilations.list},
          {"auto_pad", options.auto_pad}};
}

template <class Options>
Attributes pool(const Extents& kernel_shape, const Options& options) {
  Attributes attributes = window(options);
  attributes.set("kernel_shape", kernel_shape.list);
  attributes.set("ceil_mode", options.ceil_mode);
  return attributes;
}

Attributes convolution(const ConvOptions& options) {
  Attributes attributes = window(options);
  attributes.set("group", options.group);
  return attributes;
}

Attributes transposed(const ConvTransposeOptions& options) {
  return {{"strides", options.strides.list},
          {"pads", options.pads.list},
          {"dilations", options.dilations.list},
          {"output_padding", options.output_padding.list},
          {"group", options.group}};
}

Attributes norm(const NormOptions& options) {
  return {{"epsilon", options.epsilon}};
}
Attributes norm(const RowNormOptions& options) {
  return {{"axis", std::int64_t{options.axis}}, {"epsilon", options.epsilon}};
}

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const ConvOptions& options, Here here) {
  return ops::call(op::conv, {x, weight}, convolution(options), here);
}
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options, Here here) {
  return ops::call(op::conv, {x, weight, bias}, convolution(options), here);
}

Tensor conv_transpose(const Tensor& x, const Tensor& weight, const ConvTransposeOptions& options, Here here) {
  return ops::call(op::conv_transpose, {x, weight}, transposed(options), here);
}
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& options, Here here) {
  return ops::call(op::conv_transpose, {x, weight, bias}, transposed(options), here);
}

Tensor max_pool(const Tensor& x, const Extents& kernel_shape, const PoolOptions& options, Here here) {
  return ops::call(op::max_pool, {x}, pool(kernel_shape, options), here);
}
Tensor avg_pool(const Tensor& x, const Extents& kernel_shape, const AvgPoolOptions& options, Here here) {
  Attributes attributes = pool(kernel_shape, options);
  attributes.set("count_include_pad", options.count_include_pad);
  return ops::call(op::avg_pool, {x}, std::move(attributes), here);
}

Tensor conv_input_gradient(const Tensor& gradient, const Tensor& weight, const Extents& extents, const ConvOptions& options, Here here) {
  Attributes attributes = convolution(options);
  attributes.set("extents", extents.list);
  return ops::call(op::conv_input_gradient, {gradient, weight}, std::move(attributes), here);
}
Tensor conv_weight_gradient(const Tensor& x, const Tensor& gradient, const Extents& kernel_shape, const ConvOptions& options, Here here) {
  Attributes attributes = convolution(options);
  attributes.set("kernel_shape", kernel_shape.list);
  return ops::call(op::conv_weight_gradient, {x, gradient}, std::move(attributes), here);
}
Tensor max_pool_gradient(const Tensor& x, const Tensor& gradient, const Extents& kernel_shape, const PoolOptions& options, Here here) {
  return ops::call(op::max_pool_gradient, {x, gradient}, pool(kernel_shape, options), here);
}
Tensor max_pool_gather(const Tensor& x, const Tensor& values, const Extents& kernel_shape, const PoolOptions& options, Here here) {
  return ops::call(op::max_pool_gather, {x, values}, pool(kernel_shape, options), here);
}
Tensor avg_pool_gradient(const Tensor& gradient, const Extents& extents, const Extents& kernel_shape, const AvgPoolOptions& options,
                         Here here) {
  Attributes attributes = pool(kernel_shape, options);
  attributes.set("extents", extents.list);
  attributes.set("count_include_pad", options.count_include_pad);
  return ops::call(op::avg_pool_gradient, {gradient}, std::move(attributes), here);
}

Tensor global_max_pool(const Tensor& x, Here here) {
  return ops::call(op::global_max_pool, {x}, {}, here);
}
Tensor global_average_pool(const Tensor& x, Here here) {
  return ops::call(op::global_average_pool, {x}, {}, here);
}

Tensor batch_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean, const Tensor& variance,
                  const NormOptions& options, Here here) {
  return ops::call(op::batch_norm, {x, scale, bias, mean, variance}, norm(options), here);
}
Tensor layer_norm(const Tensor& x, const RowNormOptions& options, Here here) {
  return ops::call(op::layer_norm, {x}, norm(options), here);
}
Tensor layer_norm(const Tensor& x, const Tensor& scale, const RowNormOptions& options, Here here) {
  return ops::call(op::layer_norm, {x, scale}, norm(options), here);
}
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const RowNormOptions& options, Here here) {
  return ops::call(op::layer_norm, {x, scale, bias}, norm(options), here);
}
Tensor rms_norm(const Tensor& x, const RowNormOptions& options, Here here) {
  return ops::call(op::rms_norm, {x}, norm(options), here);
}
Tensor rms_norm(const Tensor& x, const Tensor& scale, const RowNormOptions& options, Here here) {
  return ops::call(op::rms_norm, {x, scale}, norm(options), here);
}
Tensor group_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, std::int64_t num_groups, const NormOptions& options,
                  Here here) {
  Attributes attributes = norm(options);
  attributes.set("num_groups", num_groups);
  return ops::call(op::group_norm, {x, scale, bias}, std::move(attributes), here);
}
Tensor instance_norm(const Tensor& x, const Tensor& scale, const Tensor& bias, const NormOptions& options, Here here) {
  return ops::call(op::instance_norm, {x, scale, bias}, norm(options), here);
}
Tensor lp_norm(const Tensor& x, const LpNormOptions& options, Here here) {
  return ops::call(op::lp_norm, {x}, {{"axis", std::int64_t{options.axis}}, {"p", std::int64_t{options.p}}}, here);
}

Tensor resize(const Tensor& x, const ResizeOptions& options, Here here) {
  Attributes attributes{{"mode", options.mode},
                        {"coordinate_transformation_mode", options.coordinate_transformation_mode},
                        {"nearest_mode", options.nearest_mode},
                        {"cubic_coeff_a", options.cubic_coeff_a},
                        {"exclude_outside", options.exclude_outside},
                        {"antialias", options.antialias},
                        {"extrapolation_value", options.extrapolation_value}};
  if (options.sizes) attributes.set("sizes", *options.sizes);
  if (options.scales) attributes.set("scales", *options.scales);
  if (options.roi) attributes.set("roi", *options.roi);
  return ops::call(op::resize, {x}, std::move(attributes), here);
}

}  // namespace cleave
