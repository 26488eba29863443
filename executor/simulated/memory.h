// SimulatedMemory: memory that the host cannot read by mistake. One file in memory, mapped twice: the device's own addresses without any
// access, and an alias for its kernels and copies. Memory that is new, or not needed any more, is filled with poison; on request, which
// bytes were written is remembered.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "executor/device/device.h"
#include "executor/simulated/trap.h"

namespace cleave::runtime {

class SimulatedMemory {
 public:
  static constexpr unsigned char kPoison = 0xFF;  ///< NaN as a float, -1 as an integer

  static Result<std::unique_ptr<SimulatedMemory>> create(std::int64_t bytes, bool check);
  SimulatedMemory(const SimulatedMemory&) = delete;
  SimulatedMemory& operator=(const SimulatedMemory&) = delete;
  ~SimulatedMemory();

  /// The device's address: any access traps.
  [[nodiscard]] const std::byte* address(std::int64_t offset) const { return trapped_ + offset; }
  /// The same memory for the device's own threads.
  [[nodiscard]] std::byte* alias(std::int64_t offset) const { return alias_ + offset; }
  void poison(const Range& range);
  void mark_written(const Range& range);
  /// True unless checking found bytes in `range` that nobody wrote since they were poisoned.
  [[nodiscard]] bool written(const Range& range) const;
  /// Up to where memory was touched.
  [[nodiscard]] std::int64_t touched() const { return touched_; }

 private:
  SimulatedMemory() = default;

  std::byte* trapped_ = nullptr;
  std::byte* alias_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<TrappedRange> trap_;
  std::vector<std::uint8_t> shadow_;  ///< one a byte, 1: written; empty: not checking. Streams order accesses as they order the memory's.
  std::atomic<std::int64_t> touched_ = 0;
};

}  // namespace cleave::runtime
