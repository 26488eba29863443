#include "executor/host/lapack.h"
#include "graph/base/boundary.h"

#include <dlfcn.h>

#include <string>

namespace cleave::runtime::host {
namespace {

// First the OpenBLAS that several threads may call, under its Debian path; then the library that the system has selected.
constexpr const char* kNames[] = {
#ifdef __x86_64__
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
#endif
    "liblapack.so.3", "libopenblas.so.0"};

template <class F>
void find(void* library, const std::string& symbol, F& function, std::string& missing) {
  function = reinterpret_cast<F>(dlsym(library, symbol.c_str()));
  if (!function && missing.empty()) missing = symbol;
}

template <class T>
void find_all(void* library, const std::string& letter, LapackRoutines<T>& routines, std::string& missing) {
  find(library, letter + "getrf_", routines.getrf, missing);
  find(library, letter + "getrs_", routines.getrs, missing);
  find(library, letter + "getri_", routines.getri, missing);
  find(library, letter + "potrf_", routines.potrf, missing);
  find(library, letter + "geqrf_", routines.geqrf, missing);
  find(library, letter + "orgqr_", routines.orgqr, missing);
  find(library, letter + "syevd_", routines.syevd, missing);
  find(library, letter + "gesdd_", routines.gesdd, missing);
}

template <class F>
F find(void* library, const char* symbol) {
  return reinterpret_cast<F>(dlsym(library, symbol));
}

}  // namespace

std::unique_lock<std::mutex> Lapack::enter() const {
  static std::mutex one_at_a_time;
  return reentrant ? std::unique_lock<std::mutex>() : std::unique_lock(one_at_a_time);
}

Result<Lapack> open_lapack(std::span<const char* const> names) {
  std::string reason;
  for (const char* name : names) {
    void* library = call_foreign("the library", name, [&] { return dlopen(name, RTLD_NOW | RTLD_LOCAL); });
    if (!library) {
      const char* problem = dlerror();
      reason = problem ? problem : name;
      continue;
    }
    Lapack found;
    std::string missing;
    find_all(library, "s", found.single, missing);
    find_all(library, "d", found.both, missing);
    if (missing.empty()) {
      if (const auto set_threads = find<void (*)(int)>(library, "openblas_set_num_threads")) set_threads(1);
      if (const auto parallel = find<int (*)()>(library, "openblas_get_parallel")) found.reentrant = parallel() != 0;
      return found;
    }
    reason = std::string(name) + " has no " + missing;
  }
  return Error{
      "linear algebra needs LAPACK; install the package libopenblas0-pthread or liblapack3 (" + reason + ")", {}, ErrorKind::machine};
}

const Result<Lapack>& lapack() {
  static const Result<Lapack> opened = open_lapack(kNames);
  return opened;
}

}  // namespace cleave::runtime::host
