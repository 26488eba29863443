// MatmulChoice: the choice of a cuBLASLt algorithm for a product: `choose`. If choices can be cached on disk, each of the library's
// proposals is timed once on the device, and the fastest is stored by device, versions and plan. Otherwise the library's first proposal is
// taken, because a timed choice that is not stored could give other bits in the next process.
#pragma once

#include <optional>

#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {

/// A product as cuBLASLt's descriptors: column-major, so that its `a` is our b, and its `b` our a.
struct MatmulDescription {
  BlasProduct product;
  BlasMatrix a, b, c;

  static Result<MatmulDescription> make(const BlasApi& api, const MatmulPlan& plan, Precision precision);
};

struct MatmulChoice {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

/// The functions that try an algorithm.
struct MatmulTests {
  std::function<Result<double>(const MatmulChoice&)> measure;  ///< gives the seconds of one product; null: no times are compared
  std::function<bool(const MatmulChoice&)> runs;  ///< calls it once and says if that worked; null: all proposals count as able to run
};

/// Nothing if the library has no algorithm that runs. If there are tests, the chosen algorithm has been called at least once.
Result<std::optional<MatmulChoice>> choose(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulDescription& description,
                                           const MatmulTests& tests);

}  // namespace cleave::runtime::cuda
