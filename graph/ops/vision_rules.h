// What attributes of the family `vision` say, for its reference implementations and its kernels.
#pragma once

#include "graph/array/tensor_type.h"
#include "graph/attributes.h"
#include "graph/ops/sampling.h"

namespace cleave::ops {

/// Of `non_max_suppression`, whose boxes and scores are compared as f64.
struct Suppression {
  std::int64_t most = 0;  ///< of a class
  double overlap = 0;     ///< boxes that share more than that are one
  double least = 0;       ///< only greater scores count, if `has_least`
  bool has_least = false, by_center = false;
};
/// `type` is that of the scores: the least one is rounded to it, as literals are.
Suppression suppression_of(const Attributes& attributes, DType type);
/// Of `roi_align`; rows and columns of the result.
sampling::Bins bins_of(const Attributes& attributes);
struct GridSampling {
  int mode = 0, padding = 0;
  bool align = false;
};
GridSampling grid_sampling_of(const Attributes& attributes);

}  // namespace cleave::ops
