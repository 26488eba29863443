// State that the stub's driver calls share (stub_gpu.h): the current stub, and the number of calls.
#pragma once

#include <array>
#include <atomic>
#include <iterator>

#include "executor/cuda/compiler_api.h"
#include "executor/cuda/driver_api.h"
#include "tools/bench/stub_streams.h"

namespace cleave::bench {

enum class StubCall {
#define CLEAVE_NAME(name) name,
  CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_NAME)
#undef CLEAVE_NAME
};
inline constexpr const char* kStubCallNames[] = {
#define CLEAVE_NAME(name) #name,
    CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_NAME)
#undef CLEAVE_NAME
};

/// The stub that driver calls act on. It is global, since driver calls carry no handle that leads to a stub.
struct StubOfCalls {
  const StubTraits* traits = nullptr;
  StubStreams* streams = nullptr;
  std::array<std::atomic<std::int64_t>, std::size(kStubCallNames)> counts{};
};
StubOfCalls& stub();

inline void count(StubCall call) {
  stub().counts[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
}
inline CUresult put(CUstream stream, const StubCommand& command) {
  stub().streams->put(*reinterpret_cast<StubStreams::Lane*>(stream), command);
  return CUDA_SUCCESS;
}
template <class To>
To* at(std::uint64_t address) {
  return reinterpret_cast<To*>(address);  // NOLINT(performance-no-int-to-ptr)
}
template <class Handle>
Handle as_handle(auto* object) {
  return reinterpret_cast<Handle>(object);
}

/// fill_device must be first: it sets all driver calls to do nothing, and those that query the device.
void fill_device(runtime::cuda::DriverApi& table);
void fill_memory(runtime::cuda::DriverApi& table);
void fill_streams(runtime::cuda::DriverApi& table);
void fill_kernels(runtime::cuda::DriverApi& table);
void fill_graphs(runtime::cuda::DriverApi& table);
void fill_compiler(runtime::cuda::CompilerApi& table);

}  // namespace cleave::bench
