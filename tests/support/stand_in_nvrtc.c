// A stand-in for NVRTC that opens its other half by name alone when it first compiles, as the real one does. Compiled twice:
// STAND_IN_BUILTINS is that other half.
#ifdef STAND_IN_BUILTINS

int cleave_stand_in_builtins;

#else

#include <dlfcn.h>
#include <nvrtc.h>

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 99;
  *minor = 7;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "" : "as the stand-in says";
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  (void)program, (void)count, (void)options;
  return dlopen("libnvrtc-builtins.so.99.7", RTLD_NOW | RTLD_LOCAL) ? NVRTC_SUCCESS : NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
}

// Looked for, never called.
#define CLEAVE_NOT_CALLED(name, ...)   \
  nvrtcResult name(__VA_ARGS__) {      \
    return NVRTC_ERROR_INTERNAL_ERROR; \
  }
#pragma GCC diagnostic ignored "-Wunused-parameter"
CLEAVE_NOT_CALLED(nvrtcCreateProgram, nvrtcProgram* p, const char* t, const char* n, int c, const char* const* h, const char* const* i)
CLEAVE_NOT_CALLED(nvrtcDestroyProgram, nvrtcProgram* p)
CLEAVE_NOT_CALLED(nvrtcGetProgramLogSize, nvrtcProgram p, size_t* s)
CLEAVE_NOT_CALLED(nvrtcGetProgramLog, nvrtcProgram p, char* l)
CLEAVE_NOT_CALLED(nvrtcGetCUBINSize, nvrtcProgram p, size_t* s)
CLEAVE_NOT_CALLED(nvrtcGetCUBIN, nvrtcProgram p, char* i)

#endif
