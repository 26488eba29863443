// BlasApi: the calls of cuBLASLt, the library for matrix products, as a table filled at run time.
#pragma once

#include <cublasLt.h>

#include "graph/base/result.h"

#define CLEAVE_CUDA_BLAS_CALLS(CALL)         \
  CALL(cublasLtCreate)                       \
  CALL(cublasLtDestroy)                      \
  CALL(cublasLtGetStatusName)                \
  CALL(cublasLtGetVersion)                   \
  CALL(cublasLtMatmul)                       \
  CALL(cublasLtMatmulDescCreate)             \
  CALL(cublasLtMatmulDescDestroy)            \
  CALL(cublasLtMatmulDescSetAttribute)       \
  CALL(cublasLtMatrixLayoutCreate)           \
  CALL(cublasLtMatrixLayoutDestroy)          \
  CALL(cublasLtMatrixLayoutSetAttribute)     \
  CALL(cublasLtMatmulPreferenceCreate)       \
  CALL(cublasLtMatmulPreferenceDestroy)      \
  CALL(cublasLtMatmulPreferenceSetAttribute) \
  CALL(cublasLtMatmulAlgoGetHeuristic)       \
  CALL(cublasLtMatmulAlgoCheck)

namespace cleave::runtime::cuda {

struct BlasApi {
#define CLEAVE_MEMBER(name) decltype(&::name) name = nullptr;
  CLEAVE_CUDA_BLAS_CALLS(CLEAVE_MEMBER)
#undef CLEAVE_MEMBER

  static Result<BlasApi> load();
};

}  // namespace cleave::runtime::cuda
