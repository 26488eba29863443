// The stub's driver calls for the device, memory and streams.
#include "tools/bench/stub_calls.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace cleave::bench {

using namespace runtime;
namespace {

thread_local std::vector<CUcontext> contexts;

/// Allocates zeroed memory, so that it contains no denormal numbers. Device memory and page-locked memory are both allocated here: one
/// address is valid on both sides.
void* allocate(std::size_t bytes) {
  constexpr std::size_t kAlignment = 4096;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory) std::memset(memory, 0, bytes);
  return memory;
}
/// A driver call that does nothing.
template <StubCall call, class... Arguments>
CUresult nothing(Arguments...) {
  count(call);
  return CUDA_SUCCESS;
}

CUresult copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, CUstream stream, bool by_link) {
  StubCommand command;
  command.to = at<std::byte>(to);
  command.from = at<const std::byte>(from);
  command.bytes = bytes;
  command.seconds = by_link ? stub().streams->copy_seconds(bytes) : 0;
  return put(stream, command);
}
}  // namespace

StubOfCalls& stub() {
  static StubOfCalls stub;
  return stub;
}

void fill_device(cuda::DriverApi& t) {
#define CLEAVE_NOTHING(name) t.name = nothing<StubCall::name>;
  CLEAVE_CUDA_DRIVER_CALLS(CLEAVE_NOTHING)
#undef CLEAVE_NOTHING
  t.cuDriverGetVersion = [](int* version) { return *version = 13000, CUDA_SUCCESS; };
  t.cuDeviceGetCount = [](int* number) { return *number = 1, CUDA_SUCCESS; };
  t.cuDeviceGet = [](CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; };
  t.cuDeviceGetName = [](char* name, int size, CUdevice) {
    std::strncpy(name, "Stub", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  };
  t.cuDeviceTotalMem = [](std::size_t* bytes, CUdevice) { return *bytes = std::size_t{1} << 32, CUDA_SUCCESS; };
  t.cuMemGetInfo = [](std::size_t* free, std::size_t* total) { return *free = *total = std::size_t{1} << 32, CUDA_SUCCESS; };
  t.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) {
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
      case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS: *value = stub().traits->waits_for_words ? 1 : 0; break;
      default: *value = 132;
    }
    return CUDA_SUCCESS;
  };
  t.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) { return *context = as_handle<CUcontext>(&stub()), CUDA_SUCCESS; };
  t.cuCtxGetCurrent = [](CUcontext* context) {
    count(StubCall::cuCtxGetCurrent);
    *context = contexts.empty() ? nullptr : contexts.back();
    return CUDA_SUCCESS;
  };
  t.cuCtxSetCurrent = [](CUcontext context) {
    count(StubCall::cuCtxSetCurrent);
    if (!contexts.empty()) contexts.pop_back();
    contexts.push_back(context);
    return CUDA_SUCCESS;
  };
  t.cuCtxPushCurrent = [](CUcontext context) {
    count(StubCall::cuCtxPushCurrent);
    contexts.push_back(context);
    return CUDA_SUCCESS;
  };
  t.cuCtxPopCurrent = [](CUcontext* context) {
    count(StubCall::cuCtxPopCurrent);
    *context = contexts.back();
    contexts.pop_back();
    return CUDA_SUCCESS;
  };
}

void fill_memory(cuda::DriverApi& t) {
  t.cuMemAlloc = [](CUdeviceptr* address, std::size_t bytes) {
    *address = reinterpret_cast<CUdeviceptr>(allocate(bytes));
    return *address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  t.cuMemFree = [](CUdeviceptr address) { return std::free(at<void>(address)), CUDA_SUCCESS; };
  t.cuMemHostAlloc = [](void** memory, std::size_t bytes, unsigned) {
    *memory = allocate(bytes);
    return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  t.cuMemFreeHost = [](void* memory) { return std::free(memory), CUDA_SUCCESS; };
  t.cuMemHostGetDevicePointer = [](CUdeviceptr* address, void* memory, unsigned) {
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
  };
  t.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    count(StubCall::cuMemcpyHtoDAsync);
    return copy(to, reinterpret_cast<std::uint64_t>(from), bytes, stream, true);
  };
  t.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    count(StubCall::cuMemcpyDtoHAsync);
    return copy(reinterpret_cast<std::uint64_t>(to), from, bytes, stream, true);
  };
  t.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    count(StubCall::cuMemcpyDtoDAsync);
    return copy(to, from, bytes, stream, false);
  };
  t.cuMemsetD32Async = [](CUdeviceptr, unsigned, std::size_t, CUstream stream) {
    count(StubCall::cuMemsetD32Async);
    return put(stream, {});  // nothing reads this memory
  };
}

void fill_streams(cuda::DriverApi& t) {
  t.cuStreamCreate = [](CUstream* stream, unsigned) {
    *stream = as_handle<CUstream>(stub().streams->open());
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  t.cuStreamDestroy = [](CUstream stream) {
    stub().streams->close(*reinterpret_cast<StubStreams::Lane*>(stream));
    return CUDA_SUCCESS;
  };
  t.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned) {
    count(StubCall::cuStreamWaitEvent);
    stub().streams->wait(*reinterpret_cast<StubStreams::Lane*>(stream), *reinterpret_cast<StubEvent*>(event));
    return CUDA_SUCCESS;
  };
  t.cuStreamWaitValue64 = [](CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
    count(StubCall::cuStreamWaitValue64);
    StubCommand command;
    command.kind = StubCommand::Kind::wait_for_word;
    command.word = at<std::uint64_t>(address);
    command.number = value;
    return put(stream, command);
  };
  t.cuEventCreate = [](CUevent* event, unsigned) { return *event = as_handle<CUevent>(new StubEvent), CUDA_SUCCESS; };
  t.cuEventDestroy = [](CUevent event) {
    delete reinterpret_cast<StubEvent*>(event);
    return CUDA_SUCCESS;
  };
  t.cuEventRecord = [](CUevent event, CUstream stream) {
    count(StubCall::cuEventRecord);
    stub().streams->record(*reinterpret_cast<StubStreams::Lane*>(stream), *reinterpret_cast<StubEvent*>(event));
    return CUDA_SUCCESS;
  };
  t.cuEventQuery = [](CUevent event) {
    count(StubCall::cuEventQuery);
    return reinterpret_cast<StubEvent*>(event)->over() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  t.cuEventSynchronize = [](CUevent handle) {
    count(StubCall::cuEventSynchronize);
    const StubEvent& event = *reinterpret_cast<StubEvent*>(handle);
    for (std::uint32_t done = event.done; done < event.recorded; done = event.done) event.done.wait(done);
    return CUDA_SUCCESS;
  };
  t.cuEventElapsedTime = [](float* milliseconds, CUevent begin, CUevent end) {
    *milliseconds = static_cast<float>(1000 * (reinterpret_cast<StubEvent*>(end)->time - reinterpret_cast<StubEvent*>(begin)->time));
    return CUDA_SUCCESS;
  };
}

}  // namespace cleave::bench
