// Measures the bandwidth of device memory by the width of an access, and that of the driver's own copy.
#include "tools/gpu/probe/gpu.h"

namespace cleave::probe {
namespace {

constexpr unsigned kThreads = 256, kBlocksOfOne = 8;  ///< threads of a block; blocks on a multiprocessor
constexpr std::int64_t kInFlight = 4;                 ///< accesses of a thread in flight (kernels.cpp)

nlohmann::ordered_json row(const char* access, int width, double bytes, const Times& times) {
  nlohmann::ordered_json made{{"access", access}};
  if (width > 0) made["width"] = width;
  made["bytes"] = bytes;
  made["seconds"] = times.in_a_row;
  made["bytes_per_second"] = bytes / times.in_a_row;
  return made;
}

}  // namespace

Status measure_memory(Gpu& gpu, const ProbeOptions& options, Rows& rows) {
  const auto blocks = static_cast<unsigned>(gpu.context().architecture().multiprocessors) * kBlocksOfOne;
  const std::int64_t at_once = 16 * kInFlight * blocks * kThreads;  // bytes of one pass of the widest access
  const std::int64_t bytes = std::max<std::int64_t>(options.memory_bytes / at_once, 1) * at_once;
  const Result<DeviceMemory> from = make_device_memory(gpu.context(), bytes), to = make_device_memory(gpu.context(), bytes);
  if (!from || !to) return (from ? to : from).error();
  const auto size = static_cast<std::size_t>(bytes);
  for (const CUdeviceptr memory : {from->get(), to->get()}) {
    const CUresult set = gpu.driver().cuMemsetD32Async(memory, 1, size / 4, gpu.stream());
    if (Status status = gpu.context().check("cuMemsetD32Async", set); !status) return status;
  }
  if (Status status = gpu.wait(); !status) return status;
  const auto whole = static_cast<double>(bytes);
  for (const char* access : {"read", "write", "copy"}) {
    for (const int width : {4, 8, 16}) {
      if (!rows.another()) return {};
      const Result<CUfunction> kernel = gpu.function(std::string(access) + "_" + std::to_string(width));
      if (!kernel) return kernel.error();
      const Result<Times> times = gpu.time([&](int calls) -> Status {
        for (int i = 0; i < calls; ++i) {
          Status status = gpu.launch(*kernel, blocks, kThreads, {from->get(), to->get(), static_cast<std::uint64_t>(bytes / width)});
          if (!status) return status;
        }
        return gpu.wait();
      });
      if (!times) return times.error();
      rows.add(row(access, width, access == std::string("copy") ? 2 * whole : whole, *times));
    }
  }
  if (!rows.another()) return {};
  const Result<Times> times = gpu.time([&](int calls) -> Status {
    for (int i = 0; i < calls; ++i) {
      const CUresult copied = gpu.driver().cuMemcpyDtoDAsync(to->get(), from->get(), size, gpu.stream());
      if (Status status = gpu.context().check("cuMemcpyDtoDAsync", copied); !status) return status;
    }
    return gpu.wait();
  });
  if (!times) return times.error();
  rows.add(row("copy by the driver", 0, 2 * whole, *times));
  return {};
}

}  // namespace cleave::probe
