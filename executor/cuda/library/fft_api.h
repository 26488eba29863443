// FftApi: the calls of cuFFT as a table filled at run time. Types and numbers are cuFFT's, repeated here so that a build needs no header of
// it; tests/executor/cuda/fourier_test.cpp compares them with the header where there is one.
#pragma once

#include <cstddef>

#include "graph/base/result.h"

#define CLEAVE_CUDA_FFT_CALLS(CALL) \
  CALL(cufftCreate)                 \
  CALL(cufftDestroy)                \
  CALL(cufftGetVersion)             \
  CALL(cufftSetAutoAllocation)      \
  CALL(cufftMakePlanMany64)         \
  CALL(cufftSetWorkArea)            \
  CALL(cufftSetStream)              \
  CALL(cufftExecC2C)                \
  CALL(cufftExecR2C)                \
  CALL(cufftExecC2R)                \
  CALL(cufftExecZ2Z)                \
  CALL(cufftExecD2Z)                \
  CALL(cufftExecZ2D)

namespace cleave::runtime::cuda {

using FftHandle = int;
enum class FftResult : int { success = 0 };
enum class FftType : int { r2c = 0x2a, c2r = 0x2c, c2c = 0x29, d2z = 0x6a, z2d = 0x6c, z2z = 0x69 };
inline constexpr int kFftForward = -1, kFftInverse = 1;

/// Pointers to device memory are untyped; `stream` is a CUstream.
struct FftApi {
  FftResult (*cufftCreate)(FftHandle* plan) = nullptr;
  FftResult (*cufftDestroy)(FftHandle plan) = nullptr;
  FftResult (*cufftGetVersion)(int* version) = nullptr;
  FftResult (*cufftSetAutoAllocation)(FftHandle plan, int on) = nullptr;
  FftResult (*cufftMakePlanMany64)(FftHandle plan, int rank, long long* n, long long* in_extents, long long in_stride,
                                   long long in_distance, long long* out_extents, long long out_stride, long long out_distance,
                                   FftType type, long long batch, std::size_t* work_bytes) = nullptr;
  FftResult (*cufftSetWorkArea)(FftHandle plan, void* work) = nullptr;
  FftResult (*cufftSetStream)(FftHandle plan, void* stream) = nullptr;
  FftResult (*cufftExecC2C)(FftHandle plan, void* in, void* out, int direction) = nullptr;
  FftResult (*cufftExecR2C)(FftHandle plan, void* in, void* out) = nullptr;
  FftResult (*cufftExecC2R)(FftHandle plan, void* in, void* out) = nullptr;
  FftResult (*cufftExecZ2Z)(FftHandle plan, void* in, void* out, int direction) = nullptr;
  FftResult (*cufftExecD2Z)(FftHandle plan, void* in, void* out) = nullptr;
  FftResult (*cufftExecZ2D)(FftHandle plan, void* in, void* out) = nullptr;

  static Result<FftApi> load();
};

}  // namespace cleave::runtime::cuda
