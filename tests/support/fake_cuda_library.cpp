// The fake driver as a shared library: libcuda, NVRTC and cuBLASLt in one, for programs that open them on a machine without a GPU
// (tests/tools/gpu_check_bare_root_test.py). All three names must lead to this library, in a folder that CLEAVE_CUDA_LIBRARIES names: a
// real cuBLASLt finds no GPU behind this driver and creates no handle. Enqueued work is executed at once, and kernels compute nothing.
// CLEAVE_FAKE_STALL=N: the Nth command on a stream of each process never completes. CLEAVE_FAKE_REPORT=FILE: at its exit, a process appends
// its name, the number of its calls, and the calls that no correct program makes.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/support/fake_probe.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

struct Library {
  FakeDriver driver{FakeDriver::Schedule::eager};
  cuda::Api api = FakeDriver::api();
};

Library* made();

/// Never destroyed: the process's threads may be in a call when it ends.
Library& library() {
  static Library* const one = made();
  return *one;
}

Library* made() {
  auto* const all = new Library;
  all->driver.compute_nothing();
  all->driver.allow_pageable();
  all->driver.set_memory(std::size_t{128} << 20);
  teach_probe(all->driver, [all](const std::vector<std::uint64_t>& values) {
    all->driver.keep_page_locked();  // the thread may read once more after the probe has freed it
    std::thread([values] { answer_probe(values); }).detach();
  });
  if (const char* number = std::getenv("CLEAVE_FAKE_STALL")) all->driver.stall_command(std::strtoll(number, nullptr, 10));
  std::atexit([] {
    const char* file = std::getenv("CLEAVE_FAKE_REPORT");
    if (!file) return;
    std::string text = std::string(program_invocation_short_name) + ": " + std::to_string(library().driver.calls()) + " calls\n";
    for (const std::string& misuse : library().driver.misuses()) text += "  " + misuse + "\n";
    std::ofstream(file, std::ios::app) << text;
  });
  return all;
}

}  // namespace
}  // namespace cleave::testing

// Each call is forwarded to the fake's table; the headers' macros have renamed some calls to versioned names.
#define CLEAVE_EXPORT(name, table)                                                                    \
  extern "C" {                                                                                        \
  static decltype(&::name) cleave_find_##name() {                                                     \
    return cleave::testing::library().api.table.name;                                                 \
  }                                                                                                   \
  extern __typeof__(::name) name __attribute__((ifunc("cleave_find_" #name), visibility("default"))); \
  }
#define CLEAVE_EXPORT_VERSION(name, table) CLEAVE_EXPORT(name, table)
#define CLEAVE_EXPORT_DRIVER(name) CLEAVE_EXPORT_VERSION(name, driver)
#define CLEAVE_EXPORT_COMPILER(name) CLEAVE_EXPORT_VERSION(name, compiler)
#define CLEAVE_EXPORT_BLAS(name) CLEAVE_EXPORT_VERSION(name, blas)
CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_EXPORT_DRIVER)
CLEAVE_CUDA_COMPILER_CALLS(CLEAVE_EXPORT_COMPILER)
CLEAVE_CUDA_BLAS_CALLS(CLEAVE_EXPORT_BLAS)

/// The real NVRTC requests this function, and works without it.
extern "C" __attribute__((visibility("default"))) CUresult cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
