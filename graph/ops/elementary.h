// Functions of the tracing API beside those of ops.h: random integers.
#pragma once

#include "graph/ops/ops.h"

namespace cleave {

// --- random numbers ----------------------------------------------------------------------------------------------------------------
/// `random_integers({4}, 1, 7, {.seed = 7, .step = i})`
struct RandomIntegersOptions {
  std::int64_t seed = 0;
  std::optional<Tensor> step = {};  ///< an integer scalar, as a loop counter: each gives other numbers
  DType dtype = DType::i32;
};
/// Whole numbers from low to below high, each as likely as another: `random_integers({4}, 1, 7)` throws four dice. Error `value`: no such
/// number, or one that the element type does not hold.
Tensor random_integers(Shape shape, std::int64_t low, std::int64_t high, const RandomIntegersOptions& options = {},
                       Here here = Here::now());

}  // namespace cleave
