// CudaMemory: the arena of one device, page-locked memory, and the copies between and inside them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "executor/cuda/staging.h"
#include "executor/cuda/streams.h"

namespace cleave::runtime::cuda {

class CudaMemory {
 public:
  CudaMemory(Context& context, CudaStreams& streams, std::int64_t upload_bytes)
      : context_(context), streams_(streams), upload_bytes_(upload_bytes), staging_(context) {}

  /// Allocates the two page-locked buffers for uploads.
  Status open();
  Status allocate(std::int64_t bytes);
  /// Allocates page-locked memory that lives as long as this object.
  Result<std::byte*> stage(std::int64_t bytes) { return staging_.take(bytes); }

  /// The address of an offset in the arena.
  [[nodiscard]] CUdeviceptr at(std::int64_t offset) const { return arena_.get() + static_cast<CUdeviceptr>(offset); }
  /// Records that the arena is used up to the offset `end`.
  void touch(std::int64_t end);
  [[nodiscard]] std::int64_t touched() const { return touched_; }

  Status upload(Range to, const std::byte* from, bool page_locked);
  Status copy_to_device(Range to, const std::byte* from, const Origin& origin);
  Status copy_to_host(std::byte* to, Range from, const Origin& origin);
  Status copy_inside(Range to, Range from, const Origin& origin);
  Status fill(Range to, std::int32_t value, const Origin& origin);

  /// One of the buffers for uploads, free between two uploads, and its size.
  [[nodiscard]] std::byte* buffer() const { return bounce_[0]; }
  [[nodiscard]] std::int64_t upload_bytes() const { return upload_bytes_; }

 private:
  Status upload_at_once(Range to, const std::byte* from);
  Status upload_in_pieces(Range to, const std::byte* from);

  Context& context_;
  CudaStreams& streams_;
  const std::int64_t upload_bytes_;
  DeviceMemory arena_;
  Staging staging_;
  std::byte* bounce_[2] = {};
  std::int64_t touched_ = 0;
};

}  // namespace cleave::runtime::cuda
