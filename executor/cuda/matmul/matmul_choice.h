// MatmulChoice: which of cuBLASLt's algorithms computes a product. The library names a few; where a choice can be kept on disk each is
// tried once on the device and the fastest kept, by device, versions and plan. Where it cannot, the library's first is taken, since a
// choice by the clock that is forgotten would not give equal bits in the next process.
#pragma once

#include <optional>

#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {

/// A product as cuBLASLt is told of it: column by column, so that its `a` is our b, and its `b` our a.
struct MatmulDescription {
  BlasProduct product;
  BlasMatrix a, b, c;

  static Result<MatmulDescription> make(const BlasApi& api, const MatmulPlan& plan, Precision precision);
};

struct MatmulChoice {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

/// How algorithms are tried.
struct MatmulTests {
  std::function<Result<double>(const MatmulChoice&)> measure;  ///< the seconds of one product; null: no times are compared
  std::function<bool(const MatmulChoice&)> runs;               ///< calls it once; null: whatever the library names is taken to run
};

/// Nothing: the library has none, or none that runs. What is chosen was called at least once, where there are tests.
Result<std::optional<MatmulChoice>> choose(const MatmulSetting& setting, const MatmulPlan& plan, const MatmulDescription& description,
                                           const MatmulTests& tests);

}  // namespace cleave::runtime::cuda
