// Measures copies over the link by size: each direction alone and both at once, with page-locked and with pageable host memory.
#include <cstring>
#include <thread>

#include "tools/gpu/probe/gpu.h"

namespace cleave::probe {
namespace {

enum class Way { to_device, to_host, both };
constexpr std::pair<Way, const char*> kWays[] = {{Way::to_device, "to_device"}, {Way::to_host, "to_host"}, {Way::both, "both"}};

class Link {
 public:
  Link(Gpu& gpu, bool pageable) : gpu_(gpu), pageable_(pageable) {}

  Status make(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    for (Side* side : {&out_, &in_}) {
      Result<DeviceMemory> device = make_device_memory(gpu_.context(), bytes);
      if (!device) return device.error();
      side->device = *std::move(device);
      if (pageable_) {
        side->pages.resize(size);
        side->host = side->pages.data();
        continue;
      }
      Result<HostMemory> locked = make_host_memory(gpu_.context(), bytes);
      if (!locked) return locked.error();
      side->locked = *std::move(locked);
      side->host = static_cast<std::byte*>(side->locked.get());
      std::memset(side->host, 1, size);
    }
    return copies(Way::to_device, size, 1);
  }

  /// Makes `calls` copies in each direction that `way` has, and waits.
  Status copies(Way way, std::size_t bytes, int calls) {
    if (way == Way::to_host) return to_host(bytes, calls);
    if (way == Way::to_device) return to_device(bytes, calls);
    if (pageable_) return from_two_threads(bytes, calls);
    for (int i = 0; i < calls; ++i) {
      if (Status status = enqueue_to_device(bytes); !status) return status;
      if (Status status = enqueue_to_host(bytes); !status) return status;
    }
    const Status status = gpu_.wait(0);
    return status ? gpu_.wait(1) : status;
  }

 private:
  struct Side {
    DeviceMemory device;
    HostMemory locked;
    std::vector<std::byte> pages;
    std::byte* host = nullptr;
  };

  Status enqueue_to_device(std::size_t bytes) {
    return gpu_.context().check("cuMemcpyHtoDAsync", gpu_.driver().cuMemcpyHtoDAsync(out_.device.get(), out_.host, bytes, gpu_.stream(0)));
  }
  Status enqueue_to_host(std::size_t bytes) {
    return gpu_.context().check("cuMemcpyDtoHAsync", gpu_.driver().cuMemcpyDtoHAsync(in_.host, in_.device.get(), bytes, gpu_.stream(1)));
  }
  Status to_device(std::size_t bytes, int calls) {
    for (int i = 0; i < calls; ++i)
      if (Status status = enqueue_to_device(bytes); !status) return status;
    return gpu_.wait(0);
  }
  Status to_host(std::size_t bytes, int calls) {
    for (int i = 0; i < calls; ++i)
      if (Status status = enqueue_to_host(bytes); !status) return status;
    return gpu_.wait(1);
  }
  /// Copies in both directions from two threads, because the driver copies pageable memory on the calling thread.
  Status from_two_threads(std::size_t bytes, int calls) {
    Status other;
    std::thread thread([&] {
      other = gpu_.context().enter();
      if (other) other = to_host(bytes, calls);
    });
    const Status status = to_device(bytes, calls);
    thread.join();
    return status ? other : status;
  }

  Gpu& gpu_;
  const bool pageable_;
  Side out_, in_;
};

}  // namespace

Status measure_link(Gpu& gpu, const ProbeOptions& options, bool pageable, Rows& rows) {
  Link link(gpu, pageable);
  if (Status status = link.make(options.largest_copy); !status) return status;
  for (const auto& [way, name] : kWays) {
    for (std::int64_t bytes = 1024; bytes <= options.largest_copy; bytes *= 4) {
      // Starting the thread would take longer than the copy.
      if (pageable && way == Way::both && bytes < (1 << 20) && bytes * 4 <= options.largest_copy) continue;
      if (!rows.another()) return {};
      const Way direction = way;
      const Result<Times> times = gpu.time([&](int calls) { return link.copies(direction, static_cast<std::size_t>(bytes), calls); });
      if (!times) return times.error();
      const double moved = static_cast<double>(bytes) * (way == Way::both ? 2 : 1);
      rows.add({{"memory", pageable ? "pageable" : "page-locked"},
                {"direction", name},
                {"bytes", bytes},
                {"seconds", times->alone},
                {"seconds_in_a_row", times->in_a_row},
                {"bytes_per_second", moved / times->in_a_row}});
    }
  }
  return {};
}

}  // namespace cleave::probe
