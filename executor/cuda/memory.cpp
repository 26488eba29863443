#include "executor/cuda/memory.h"

#include <algorithm>
#include <cstring>

#include "executor/memory/arena.h"
#include "graph/base/units.h"

namespace cleave::runtime::cuda {
namespace {

std::size_t size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Status CudaMemory::open() {
  for (std::byte*& piece : bounce_) {
    Result<std::byte*> memory = staging_.take(upload_bytes_);
    if (!memory) return memory.error();
    piece = *memory;
  }
  return {};
}

Status CudaMemory::allocate(std::int64_t bytes) {
  Result<DeviceMemory> memory = make_device_memory(context_, std::max<std::int64_t>(bytes, Arena::kAlignment));
  if (!memory)
    return Error{
        "no room for " + format_bytes(static_cast<double>(bytes)) + " on the GPU: " + memory.error().message, {}, ErrorKind::machine};
  arena_ = *std::move(memory);
  return {};
}

void CudaMemory::touch(std::int64_t end) {
  touched_ = std::max(touched_, Arena::rounded(end));
}

Status CudaMemory::upload(Range to, const std::byte* from, bool page_locked) {
  return page_locked ? upload_at_once(to, from) : upload_in_pieces(to, from);
}

Status CudaMemory::upload_at_once(Range to, const std::byte* from) {
  Status status = copy_to_device(to, from, {});
  return status ? streams_.synchronize(streams_.record(Stream::to_device)) : status;
}

Status CudaMemory::upload_in_pieces(Range to, const std::byte* from) {
  Event done[2];
  std::int64_t moved = 0;
  for (std::size_t i = 0; moved < to.bytes; i = 1 - i) {
    if (Status status = streams_.synchronize(done[i]); !status) return status;
    const Range piece{to.offset + moved, std::min(upload_bytes_, to.bytes - moved)};
    std::memcpy(bounce_[i], from + moved, size(piece.bytes));
    if (Status status = copy_to_device(piece, bounce_[i], {}); !status) return status;
    done[i] = streams_.record(Stream::to_device);
    moved += piece.bytes;
  }
  for (const Event& event : done) {
    if (Status status = streams_.synchronize(event); !status) return status;
  }
  return {};
}

Status CudaMemory::copy_to_device(Range to, const std::byte* from, const Origin& origin) {
  if (to.bytes == 0) return {};
  touch(to.offset + to.bytes);
  return streams_.enqueue(Stream::to_device, origin, [&](CUstream stream, std::uint64_t) {
    return context_.check("cuMemcpyHtoDAsync", context_.api().cuMemcpyHtoDAsync(at(to.offset), from, size(to.bytes), stream));
  });
}

Status CudaMemory::copy_to_host(std::byte* to, Range from, const Origin& origin) {
  if (from.bytes == 0) return {};
  return streams_.enqueue(Stream::to_host, origin, [&](CUstream stream, std::uint64_t) {
    return context_.check("cuMemcpyDtoHAsync", context_.api().cuMemcpyDtoHAsync(to, at(from.offset), size(from.bytes), stream));
  });
}

Status CudaMemory::copy_inside(Range to, Range from, const Origin& origin) {
  if (to.bytes == 0) return {};
  touch(to.offset + to.bytes);
  return streams_.enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t) {
    return context_.check("cuMemcpyDtoDAsync", context_.api().cuMemcpyDtoDAsync(at(to.offset), at(from.offset), size(to.bytes), stream));
  });
}

Status CudaMemory::fill(Range to, std::int32_t value, const Origin& origin) {
  if (to.bytes == 0) return {};
  touch(to.offset + to.bytes);
  return streams_.enqueue(Stream::compute, origin, [&](CUstream stream, std::uint64_t) {
    return context_.check("cuMemsetD32Async",
                          context_.api().cuMemsetD32Async(at(to.offset), static_cast<unsigned>(value), size(to.bytes / 4), stream));
  });
}

}  // namespace cleave::runtime::cuda
