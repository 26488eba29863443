// DriverApi: the calls of libcuda.so.1 that cleave uses, as a table that is filled at run time by the real library or by a fake. cuda.h's
// macros give each call its versioned name (cuMemAlloc is cuMemAlloc_v2), both in the table and in the look-up.
#pragma once

#include <cuda.h>

#include "graph/base/result.h"

#define CLEAVE_CUDA_DRIVER_CALLS(CALL)              \
  CALL(cuInit)                                      \
  CALL(cuDriverGetVersion)                          \
  CALL(cuGetErrorName)                              \
  CALL(cuGetErrorString)                            \
  CALL(cuDeviceGetCount)                            \
  CALL(cuDeviceGet)                                 \
  CALL(cuDeviceGetName)                             \
  CALL(cuDeviceTotalMem)                            \
  CALL(cuDeviceGetAttribute)                        \
  CALL(cuDevicePrimaryCtxRetain)                    \
  CALL(cuDevicePrimaryCtxRelease)                   \
  CALL(cuCtxGetCurrent)                             \
  CALL(cuCtxSetCurrent)                             \
  CALL(cuCtxPushCurrent)                            \
  CALL(cuCtxPopCurrent)                             \
  CALL(cuMemGetInfo)                                \
  CALL(cuMemAlloc)                                  \
  CALL(cuMemFree)                                   \
  CALL(cuMemHostAlloc)                              \
  CALL(cuMemFreeHost)                               \
  CALL(cuMemHostGetDevicePointer)                   \
  CALL(cuMemcpyHtoDAsync)                           \
  CALL(cuMemcpyDtoHAsync)                           \
  CALL(cuMemcpyDtoDAsync)                           \
  CALL(cuMemsetD32Async)                            \
  CALL(cuStreamCreate)                              \
  CALL(cuStreamDestroy)                             \
  CALL(cuStreamWaitEvent)                           \
  CALL(cuStreamWaitValue64)                         \
  CALL(cuEventCreate)                               \
  CALL(cuEventDestroy)                              \
  CALL(cuEventRecord)                               \
  CALL(cuEventQuery)                                \
  CALL(cuEventSynchronize)                          \
  CALL(cuEventElapsedTime)                          \
  CALL(cuModuleLoadData)                            \
  CALL(cuModuleUnload)                              \
  CALL(cuModuleGetFunction)                         \
  CALL(cuFuncSetAttribute)                          \
  CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  CALL(cuLaunchKernel)                              \
  CALL(cuStreamBeginCapture)                        \
  CALL(cuStreamEndCapture)                          \
  CALL(cuGraphCreate)                               \
  CALL(cuGraphDestroy)                              \
  CALL(cuGraphAddKernelNode)                        \
  CALL(cuGraphAddMemcpyNode)                        \
  CALL(cuGraphAddChildGraphNode)                    \
  CALL(cuGraphInstantiate)                          \
  CALL(cuGraphUpload)                               \
  CALL(cuGraphLaunch)                               \
  CALL(cuGraphExecKernelNodeSetParams)              \
  CALL(cuGraphExecDestroy)

/// Optional calls, which older drivers do not have.
#define CLEAVE_CUDA_DRIVER_CALLS_OF_LATER(CALL) \
  CALL(cuGraphAddNode)                          \
  CALL(cuGraphConditionalHandleCreate)

namespace cleave::runtime::cuda {

struct DriverApi {
#define CLEAVE_MEMBER(name) decltype(&::name) name = nullptr;
  CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_MEMBER)
  CLEAVE_CUDA_DRIVER_CALLS_OF_LATER(CLEAVE_MEMBER)
#undef CLEAVE_MEMBER

  /// An Error (machine) says what is missing: the library, or a call that its version does not have.
  static Result<DriverApi> load();
};

}  // namespace cleave::runtime::cuda
