// ExecutableMemory: pages of machine code, written first, and read and executed only from then on (W^X).
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace cleave::runtime::host {

class ExecutableMemory {
 public:
  ExecutableMemory() = default;
  /// Empty if the system refuses executable memory.
  explicit ExecutableMemory(std::span<const std::byte> code);
  ExecutableMemory(ExecutableMemory&& from) noexcept : memory_(std::exchange(from.memory_, nullptr)), bytes_(from.bytes_) {}
  ExecutableMemory& operator=(ExecutableMemory&& from) noexcept {
    std::swap(memory_, from.memory_);
    std::swap(bytes_, from.bytes_);
    return *this;
  }
  ~ExecutableMemory();

  [[nodiscard]] void* begin() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace cleave::runtime::host
