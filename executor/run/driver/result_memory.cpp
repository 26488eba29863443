#include "executor/run/driver/result_memory.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace cleave::runtime {
namespace {

constexpr std::int64_t kSmall = 4 << 10;  ///< smaller arrays are cheap to allocate

}  // namespace

/// Blocks without an owner: at most as many as were taken at once.
class ResultMemory::Spare {
 public:
  Array take(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Array& block) { return block.size() == bytes; });
    if (found == blocks_.end()) return {};
    Array block = std::move(*found);
    blocks_.erase(found);
    return block;
  }
  void give_back(Array block) {
    const std::lock_guard lock(mutex_);
    if (blocks_.size() >= kMost) blocks_.erase(blocks_.begin());
    blocks_.push_back(std::move(block));
  }

 private:
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::vector<Array> blocks_;  ///< the longest unused one first
};

ResultMemory::ResultMemory() : spare_(std::make_shared<Spare>()) {}

Result<Array> ResultMemory::take(const TensorType& type) {
  if (type.bytes() < kSmall) return Array::allocate(type);
  Array block = spare_->take(type.bytes());
  if (block.size() != type.bytes()) {
    Result<Array> fresh = Array::allocate({DType::u8, {type.bytes()}});
    if (!fresh) return fresh;
    block = *std::move(fresh);
  }
  std::byte* data = block.mutable_bytes();
  return Array::own(type, data, [spare = std::weak_ptr(spare_), block = std::move(block)]() mutable {
    if (const std::shared_ptr<Spare> all = spare.lock()) all->give_back(std::move(block));
  });
}

}  // namespace cleave::runtime
