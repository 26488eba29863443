// CompilerApi: the calls of NVRTC, the run-time compiler, as a table filled at run time.
#pragma once

#include <nvrtc.h>

#include "graph/base/result.h"

#define CLEAVE_CUDA_COMPILER_CALLS(CALL) \
  CALL(nvrtcVersion)                     \
  CALL(nvrtcGetErrorString)              \
  CALL(nvrtcCreateProgram)               \
  CALL(nvrtcDestroyProgram)              \
  CALL(nvrtcCompileProgram)              \
  CALL(nvrtcGetProgramLogSize)           \
  CALL(nvrtcGetProgramLog)               \
  CALL(nvrtcGetCUBINSize)                \
  CALL(nvrtcGetCUBIN)

namespace cleave::runtime::cuda {

struct CompilerApi {
#define CLEAVE_MEMBER(name) decltype(&::name) name = nullptr;
  CLEAVE_CUDA_COMPILER_CALLS(CLEAVE_MEMBER)
#undef CLEAVE_MEMBER

  static Result<CompilerApi> load();
};

}  // namespace cleave::runtime::cuda
