// DnnApi: the calls of cuDNN that convolutions need, as a table filled at run time. It holds only calls that both cuDNN 8 and 9 have. Types
// and numbers are cuDNN's, repeated here so that a build needs no header of it;
// tests/executor/cuda/convolution_test.cpp compares them with the header where there is one.
#pragma once

#include <cstddef>

#include "graph/base/result.h"

#define CLEAVE_CUDA_DNN_CALLS(CALL)             \
  CALL(cudnnCreate)                             \
  CALL(cudnnDestroy)                            \
  CALL(cudnnSetStream)                          \
  CALL(cudnnGetErrorString)                     \
  CALL(cudnnCreateTensorDescriptor)             \
  CALL(cudnnDestroyTensorDescriptor)            \
  CALL(cudnnSetTensorNdDescriptor)              \
  CALL(cudnnCreateFilterDescriptor)             \
  CALL(cudnnDestroyFilterDescriptor)            \
  CALL(cudnnSetFilterNdDescriptor)              \
  CALL(cudnnCreateConvolutionDescriptor)        \
  CALL(cudnnDestroyConvolutionDescriptor)       \
  CALL(cudnnSetConvolutionNdDescriptor)         \
  CALL(cudnnSetConvolutionGroupCount)           \
  CALL(cudnnSetConvolutionMathType)             \
  CALL(cudnnGetConvolutionForwardAlgorithm_v7)  \
  CALL(cudnnGetConvolutionForwardWorkspaceSize) \
  CALL(cudnnConvolutionForward)                 \
  CALL(cudnnAddTensor)

namespace cleave::runtime::cuda {

using DnnHandle = struct DnnContext*;
using DnnTensor = struct DnnTensorStruct*;
using DnnFilter = struct DnnFilterStruct*;
using DnnConvolution = struct DnnConvolutionStruct*;
enum class DnnResult : int { success = 0 };
enum class DnnType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 9 };
enum class DnnMath : int { standard = 0, tensor_cores = 1, tensor_cores_with_rounding = 2, multiply_add = 3 };
enum class DnnFormat : int { channels_first = 0 };
enum class DnnMode : int { cross_correlation = 1 };
enum class DnnAlgorithm : int {};

/// An algorithm that cuDNN proposes; has the layout of cudnnConvolutionFwdAlgoPerf_t.
struct DnnOffer {
  DnnAlgorithm algorithm{};
  DnnResult status = DnnResult::success;
  float seconds = 0;
  std::size_t work_bytes = 0;
  int deterministic = 0;
  DnnMath math = DnnMath::standard;
  int reserved[3] = {};
};

struct DnnApi {
  using R = DnnResult;
  R (*cudnnCreate)(DnnHandle* handle) = nullptr;
  R (*cudnnDestroy)(DnnHandle handle) = nullptr;
  R (*cudnnSetStream)(DnnHandle handle, void* stream) = nullptr;
  const char* (*cudnnGetErrorString)(DnnResult result) = nullptr;
  R (*cudnnCreateTensorDescriptor)(DnnTensor* tensor) = nullptr;
  R (*cudnnDestroyTensorDescriptor)(DnnTensor tensor) = nullptr;
  R (*cudnnSetTensorNdDescriptor)(DnnTensor tensor, DnnType type, int rank, const int* extents, const int* strides) = nullptr;
  R (*cudnnCreateFilterDescriptor)(DnnFilter* filter) = nullptr;
  R (*cudnnDestroyFilterDescriptor)(DnnFilter filter) = nullptr;
  R (*cudnnSetFilterNdDescriptor)(DnnFilter filter, DnnType type, DnnFormat format, int rank, const int* extents) = nullptr;
  R (*cudnnCreateConvolutionDescriptor)(DnnConvolution* convolution) = nullptr;
  R (*cudnnDestroyConvolutionDescriptor)(DnnConvolution convolution) = nullptr;
  R(*cudnnSetConvolutionNdDescriptor)
  (DnnConvolution convolution, int axes, const int* pads, const int* strides, const int* dilations, DnnMode mode,
   DnnType compute) = nullptr;
  R (*cudnnSetConvolutionGroupCount)(DnnConvolution convolution, int groups) = nullptr;
  R (*cudnnSetConvolutionMathType)(DnnConvolution convolution, DnnMath math) = nullptr;
  R(*cudnnGetConvolutionForwardAlgorithm_v7)
  (DnnHandle handle, DnnTensor x, DnnFilter weights, DnnConvolution convolution, DnnTensor y, int most, int* count,
   DnnOffer* offers) = nullptr;
  R(*cudnnGetConvolutionForwardWorkspaceSize)
  (DnnHandle handle, DnnTensor x, DnnFilter weights, DnnConvolution convolution, DnnTensor y, DnnAlgorithm algorithm,
   std::size_t* bytes) = nullptr;
  R(*cudnnConvolutionForward)
  (DnnHandle handle, const void* alpha, DnnTensor x_tensor, const void* x, DnnFilter filter, const void* weights,
   DnnConvolution convolution, DnnAlgorithm algorithm, void* work, std::size_t work_bytes, const void* beta, DnnTensor y_tensor,
   void* y) = nullptr;
  R(*cudnnAddTensor)
  (DnnHandle handle, const void* alpha, DnnTensor a_tensor, const void* a, const void* beta, DnnTensor c_tensor, void* c) = nullptr;

  static Result<DnnApi> load();
};

}  // namespace cleave::runtime::cuda
