#include "executor/cuda/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "executor/cuda/compiler_api.h"
#include "executor/cuda/driver_api.h"
#include "executor/cuda/library/dnn_api.h"
#include "executor/cuda/library/fft_api.h"
#include "executor/cuda/library/solver_api.h"
#include "executor/cuda/library_places.h"
#include "executor/cuda/matmul/blas_api.h"
#include "graph/base/boundary.h"

namespace cleave::runtime::cuda {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& files, std::string_view purpose) {
  std::string reason;
  bool there = false;  // true once the error names a file that exists
  for (const std::string& file : files) {
    SharedLibrary library;
    library.handle_ = call_foreign("the library", file, [&] { return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); });
    library.name_ = file;
    if (library.handle_) return library;
    const char* problem = dlerror();
    const bool named = file.find('/') != std::string::npos;
    if (reason.empty() || (named && !there)) reason = problem ? problem : file;
    there = there || named;
  }
  return Error{std::string(purpose) + " cannot be opened: " + reason, {}, ErrorKind::machine};
}

void* SharedLibrary::address(const char* symbol) {
  void* found = dlsym(handle_, symbol);
  if (!found && missing_.empty()) missing_ = symbol;
  return found;
}

void* SharedLibrary::address_if_there(const char* symbol) const {
  return dlsym(handle_, symbol);
}

void SharedLibrary::open_beside(const std::string& file) const {
  const link_map* found = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&found)) != 0 || !found || !found->l_name) return;
  const std::filesystem::path place(found->l_name);
  if (!place.has_parent_path()) return;
  const std::string beside = place.parent_path() / file;
  call_foreign("the library", beside, [&] { return dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL); });
}

Status SharedLibrary::complete() const {
  if (missing_.empty()) return {};
  return Error{name_ + " is too old for this build of cleave: it has no " + missing_, {}, ErrorKind::machine};
}

namespace {

/// Opens a library and fills its table by `find(library, api)`; an Error if the library is missing or too old.
template <class Api, class Find>
Result<Api> load_api(const std::vector<std::string>& files, std::string_view purpose, const Find& find) {
  auto library = SharedLibrary::open(files, purpose);
  if (!library && files.size() > 1) {
    Error error = library.error();
    error.message += "; CLEAVE_CUDA_LIBRARIES can name its folder";
    return error;
  }
  if (!library) return library.error();
  Api api;
  find(*library, api);
  if (Status status = library->complete(); !status) return status.error();
  return api;
}

/// `letter`: S for f32, D for f64.
void find_routines(SharedLibrary& library, const std::string& letter, SolverRoutines& routines) {
  const auto find = [&](const char* name, auto& function) { library.find(("cusolverDn" + letter + name).c_str(), function); };
  find("getrf_bufferSize", routines.getrf_size);
  find("getrf", routines.getrf);
  find("getrs", routines.getrs);
  find("potrf_bufferSize", routines.potrf_size);
  find("potrf", routines.potrf);
  find("geqrf_bufferSize", routines.geqrf_size);
  find("geqrf", routines.geqrf);
  find("orgqr_bufferSize", routines.orgqr_size);
  find("orgqr", routines.orgqr);
  find("syevd_bufferSize", routines.syevd_size);
  find("syevd", routines.syevd);
  find("gesvd_bufferSize", routines.gesvd_size);
  find("gesvd", routines.gesvd);
}

// Gives the name as text after the headers' macros have replaced it by its versioned name.
#define CLEAVE_TEXT(name) #name
#define CLEAVE_FIND(name) library.find(CLEAVE_TEXT(name), api.name);
#define CLEAVE_FIND_IF_THERE(name) library.find_if_there(CLEAVE_TEXT(name), api.name);

}  // namespace

Result<DriverApi> DriverApi::load() {
  return load_api<DriverApi>({"libcuda.so.1"}, "the NVIDIA driver", [](SharedLibrary& library, DriverApi& api) {
    CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_FIND)
    CLEAVE_CUDA_DRIVER_CALLS_OF_LATER(CLEAVE_FIND_IF_THERE)
  });
}

Result<CompilerApi> CompilerApi::load() {
  return load_api<CompilerApi>(library_places({"libnvrtc.so.13", "libnvrtc.so.12"}), "NVRTC, CUDA's run-time compiler,",
                               [](SharedLibrary& library, CompilerApi& api) {
                                 CLEAVE_CUDA_COMPILER_CALLS(CLEAVE_FIND)
                                 // NVRTC opens this library by its bare name at the first compilation and has no run path of its own.
                                 // (cuBLASLt and the others have one; if they open NVRTC by name, they get the one opened here.)
                                 int major = 0, minor = 0;
                                 if (!api.nvrtcVersion || api.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return;
                                 library.open_beside("libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor));
                               });
}

Result<BlasApi> BlasApi::load() {
  return load_api<BlasApi>(library_places({"libcublasLt.so.13", "libcublasLt.so.12"}), "cuBLASLt, CUDA's library of matrix products,",
                           [](SharedLibrary& library, BlasApi& api) { CLEAVE_CUDA_BLAS_CALLS(CLEAVE_FIND) });
}

Result<FftApi> FftApi::load() {
  return load_api<FftApi>(library_places({"libcufft.so.12", "libcufft.so.11"}), "cuFFT, CUDA's library of Fourier transforms,",
                          [](SharedLibrary& library, FftApi& api) { CLEAVE_CUDA_FFT_CALLS(CLEAVE_FIND) });
}

Result<SolverApi> SolverApi::load() {
  return load_api<SolverApi>(library_places({"libcusolver.so.12", "libcusolver.so.11"}), "cuSOLVER, CUDA's library of linear algebra,",
                             [](SharedLibrary& library, SolverApi& api) {
                               library.find("cusolverDnCreate", api.cusolverDnCreate);
                               library.find("cusolverDnDestroy", api.cusolverDnDestroy);
                               library.find("cusolverDnSetStream", api.cusolverDnSetStream);
                               find_routines(library, "S", api.f32);
                               find_routines(library, "D", api.f64);
                             });
}

Result<DnnApi> DnnApi::load() {
  return load_api<DnnApi>(library_places({"libcudnn.so.9", "libcudnn.so.8"}), "cuDNN, NVIDIA's library of neural networks,",
                          [](SharedLibrary& library, DnnApi& api) { CLEAVE_CUDA_DNN_CALLS(CLEAVE_FIND) });
}

}  // namespace cleave::runtime::cuda
