// SolverApi: the calls of cuSOLVER as a table filled at run time. Types and numbers are cuSOLVER's, repeated here so that a build needs no
// header of it; tests/executor/cuda/solver_test.cpp compares them with the header where there is one.
#pragma once

#include "graph/base/result.h"

namespace cleave::runtime::cuda {

using SolverHandle = struct SolverContext*;
enum class SolverResult : int { success = 0 };
enum class SolverJob : int { values = 0, vectors = 1 };
enum class SolverTriangle : int { lower = 0, upper = 1 };
enum class SolverTurn : int { none = 0, transposed = 1 };

/// The routines of one element type, for column-major matrices. Pointers to device memory are untyped. A routine writes its numerical
/// failure to `info`.
struct SolverRoutines {
  using Job = SolverJob;
  using Triangle = SolverTriangle;
  using Result = SolverResult;

  Result (*getrf_size)(SolverHandle, int m, int n, void* a, int lda, int* size) = nullptr;
  Result (*getrf)(SolverHandle, int m, int n, void* a, int lda, void* work, int* pivots, int* info) = nullptr;
  Result (*getrs)(SolverHandle, SolverTurn turn, int n, int sides, const void* a, int lda, const int* pivots, void* b, int ldb,
                  int* info) = nullptr;
  Result (*potrf_size)(SolverHandle, Triangle, int n, void* a, int lda, int* size) = nullptr;
  Result (*potrf)(SolverHandle, Triangle, int n, void* a, int lda, void* work, int size, int* info) = nullptr;
  Result (*geqrf_size)(SolverHandle, int m, int n, void* a, int lda, int* size) = nullptr;
  Result (*geqrf)(SolverHandle, int m, int n, void* a, int lda, void* tau, void* work, int size, int* info) = nullptr;
  Result (*orgqr_size)(SolverHandle, int m, int n, int k, const void* a, int lda, const void* tau, int* size) = nullptr;
  Result (*orgqr)(SolverHandle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info) = nullptr;
  Result (*syevd_size)(SolverHandle, Job, Triangle, int n, const void* a, int lda, const void* values, int* size) = nullptr;
  Result (*syevd)(SolverHandle, Job, Triangle, int n, void* a, int lda, void* values, void* work, int size, int* info) = nullptr;
  Result (*gesvd_size)(SolverHandle, int m, int n, int* size) = nullptr;  ///< m is not less than n, here and below
  Result (*gesvd)(SolverHandle, signed char job_u, signed char job_vt, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* vt,
                  int ldvt, void* work, int size, void* real_work, int* info) = nullptr;
};

struct SolverApi {
  SolverResult (*cusolverDnCreate)(SolverHandle* handle) = nullptr;
  SolverResult (*cusolverDnDestroy)(SolverHandle handle) = nullptr;
  SolverResult (*cusolverDnSetStream)(SolverHandle handle, void* stream) = nullptr;
  SolverRoutines f32, f64;

  static cleave::Result<SolverApi> load();
};

}  // namespace cleave::runtime::cuda
