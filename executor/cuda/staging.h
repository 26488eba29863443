// Staging: an allocator of page-locked host memory. It cuts pieces from few large blocks, because each block costs a driver call and whole
// pages.
#pragma once

#include <vector>

#include "executor/cuda/resources.h"

namespace cleave::runtime::cuda {

class Staging {
 public:
  explicit Staging(const Context& context) : context_(context) {}

  /// Allocates `bytes` bytes, aligned for any copy. They are freed with this object.
  Result<std::byte*> take(std::int64_t bytes) {
    bytes = (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > left_) {
      const std::int64_t size = std::max(bytes, kBlock);
      Result<HostMemory> block = make_host_memory(context_, size);
      if (!block) return block.error();
      blocks_.push_back(*std::move(block));
      std::byte* begin = static_cast<std::byte*>(blocks_.back().get());
      if (size - bytes < left_) return begin;  // the old block has more left than the new one would
      next_ = begin;
      left_ = size;
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

 private:
  static constexpr std::int64_t kAlignment = 256, kBlock = 1 << 20;

  const Context& context_;
  std::vector<HostMemory> blocks_;
  std::byte* next_ = nullptr;
  std::int64_t left_ = 0;
};

}  // namespace cleave::runtime::cuda
