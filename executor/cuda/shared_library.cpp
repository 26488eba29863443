#include "executor/cuda/shared_library.h"

#include <dlfcn.h>

#include "executor/cuda/compiler_api.h"
#include "executor/cuda/driver_api.h"
#include "executor/cuda/library/fft_api.h"
#include "executor/cuda/matmul/blas_api.h"

namespace cleave::runtime::cuda {

Result<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names, std::string_view purpose) {
  std::string reason;
  for (const char* name : names) {
    SharedLibrary library;
    library.handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    library.name_ = name;
    if (library.handle_) return library;
    const char* problem = dlerror();
    if (reason.empty()) reason = problem ? problem : name;
  }
  return Error{std::string(purpose) + " cannot be opened: " + reason, {}, ErrorKind::machine};
}

void* SharedLibrary::address(const char* symbol) {
  void* found = dlsym(handle_, symbol);
  if (!found && missing_.empty()) missing_ = symbol;
  return found;
}

Status SharedLibrary::complete() const {
  if (missing_.empty()) return {};
  return Error{name_ + " is too old for this build of cleave: it has no " + missing_, {}, ErrorKind::machine};
}

// The text of the name after the headers' macros have given it its version.
#define CLEAVE_TEXT(name) #name
#define CLEAVE_FIND(name) library->find(CLEAVE_TEXT(name), api.name);

Result<DriverApi> DriverApi::load() {
  auto library = SharedLibrary::open({"libcuda.so.1"}, "the NVIDIA driver");
  if (!library) return library.error();
  DriverApi api;
  CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_FIND)
  if (Status status = library->complete(); !status) return status.error();
  return api;
}

Result<CompilerApi> CompilerApi::load() {
  auto library = SharedLibrary::open(
      {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.12"},
      "NVRTC, CUDA's run-time compiler,");
  if (!library) return library.error();
  CompilerApi api;
  CLEAVE_CUDA_COMPILER_CALLS(CLEAVE_FIND)
  if (Status status = library->complete(); !status) return status.error();
  return api;
}

Result<BlasApi> BlasApi::load() {
  auto library = SharedLibrary::open(
      {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.12"},
      "cuBLASLt, CUDA's library of matrix products,");
  if (!library) return library.error();
  BlasApi api;
  CLEAVE_CUDA_BLAS_CALLS(CLEAVE_FIND)
  if (Status status = library->complete(); !status) return status.error();
  return api;
}

Result<FftApi> FftApi::load() {
  auto library = SharedLibrary::open(
      {"libcufft.so.12", "libcufft.so.11", "/usr/local/cuda/lib64/libcufft.so.12", "/usr/local/cuda/lib64/libcufft.so.11"},
      "cuFFT, CUDA's library of Fourier transforms,");
  if (!library) return library.error();
  FftApi api;
  CLEAVE_CUDA_FFT_CALLS(CLEAVE_FIND)
  if (Status status = library->complete(); !status) return status.error();
  return api;
}

}  // namespace cleave::runtime::cuda
