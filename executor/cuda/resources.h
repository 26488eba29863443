// Owning handles of the driver's resources (streams, events, modules, graphs, memory). They must be destroyed before their Context, and on
// a thread that has entered it.
#pragma once

#include <utility>

#include "executor/cuda/context.h"

namespace cleave::runtime::cuda {

/// An owning handle; the destructor releases it by the driver's call `Release`.
template <class Handle, auto Release>
class Owned {
 public:
  Owned() = default;
  Owned(const Context& context, Handle handle) : context_(&context), handle_(handle) {}
  Owned(Owned&& other) noexcept : context_(std::exchange(other.context_, nullptr)), handle_(other.handle_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (context_ && !context_->stuck()) (context_->api().*Release)(handle_);
  }

  [[nodiscard]] Handle get() const { return handle_; }
  explicit operator bool() const { return context_ != nullptr; }

  /// Owns the handle that `make(&handle)`, the driver's `call`, creates.
  template <class Make>
  static Result<Owned> make(const Context& context, const char* call, Make&& make) {
    Handle handle{};
    if (Status status = context.check(call, make(&handle)); !status) return status.error();
    return Owned(context, handle);
  }

 private:
  const Context* context_ = nullptr;
  Handle handle_{};
};

using StreamHandle = Owned<CUstream, &DriverApi::cuStreamDestroy>;
using EventHandle = Owned<CUevent, &DriverApi::cuEventDestroy>;
using ModuleHandle = Owned<CUmodule, &DriverApi::cuModuleUnload>;
using GraphHandle = Owned<CUgraph, &DriverApi::cuGraphDestroy>;
using GraphExecHandle = Owned<CUgraphExec, &DriverApi::cuGraphExecDestroy>;  ///< an instantiated graph, which can be launched
using DeviceMemory = Owned<CUdeviceptr, &DriverApi::cuMemFree>;
using HostMemory = Owned<void*, &DriverApi::cuMemFreeHost>;  ///< page-locked

inline Result<StreamHandle> make_stream(const Context& context) {
  return StreamHandle::make(context, "cuStreamCreate",
                            [&](CUstream* s) { return context.api().cuStreamCreate(s, CU_STREAM_NON_BLOCKING); });
}
/// An event without timing; a thread that synchronizes with it sleeps instead of spinning.
inline Result<EventHandle> make_event(const Context& context) {
  return EventHandle::make(context, "cuEventCreate",
                           [&](CUevent* e) { return context.api().cuEventCreate(e, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC); });
}
inline Result<DeviceMemory> make_device_memory(const Context& context, std::int64_t bytes) {
  return DeviceMemory::make(context, "cuMemAlloc",
                            [&](CUdeviceptr* p) { return context.api().cuMemAlloc(p, static_cast<std::size_t>(bytes)); });
}
inline Result<HostMemory> make_host_memory(const Context& context, std::int64_t bytes) {
  return HostMemory::make(context, "cuMemHostAlloc", [&](void** p) {
    return context.api().cuMemHostAlloc(p, static_cast<std::size_t>(bytes), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  });
}
inline Result<ModuleHandle> make_module(const Context& context, const void* image) {
  return ModuleHandle::make(context, "cuModuleLoadData", [&](CUmodule* m) { return context.api().cuModuleLoadData(m, image); });
}

}  // namespace cleave::runtime::cuda
