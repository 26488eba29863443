// Statistics over axes: composite functions, traced into reductions and arithmetic.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

/// `var(x, {.axis = 0, .correction = 1})`
struct VarianceOptions {
  Axes axis = {};         ///< none given: all
  double correction = 0;  ///< the sum of squares is divided by the number of elements minus this: 1 for a sample's variance (Bessel)
  bool keepdims = false;  ///< reduced axes stay, with extent 1
};
/// The mean square distance from the mean, over the axes: [4, 3] with axis 0 -> [3]. Two passes (first the mean), so that large numbers
/// close to each other keep their digits. Integers give f32. NaN where there are fewer elements than the correction asks for. Error
/// `value`: no such axis; `type`: bool.
///   Tensor spread = stddev(x, {.axis = 0, .correction = 1});
Tensor var(const Tensor& x, const VarianceOptions& options = {}, Here here = Here::now());
/// The standard deviation: the square root of `var`. In models it is called `std`, which in C++ is a namespace.
Tensor stddev(const Tensor& x, const VarianceOptions& options = {}, Here here = Here::now());

}  // namespace cleave
