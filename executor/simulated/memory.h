// SimulatedMemory: device memory that the host cannot read by mistake. One in-memory file is mapped twice: the device's own addresses,
// which allow no access, and an alias for its kernels and copies. New and released memory is filled with poison; on request, the written
// bytes are recorded.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "executor/runtime.h"
#include "executor/simulated/trap.h"
#include "graph/base/result.h"
#include "graph/kernel/kernel_request.h"

namespace cleave::runtime {

class SimulatedMemory {
 public:
  static constexpr unsigned char kPoison = 0xFF;  ///< NaN as a float, -1 as an integer

  static Result<std::unique_ptr<SimulatedMemory>> create(std::int64_t bytes, bool check);
  SimulatedMemory(const SimulatedMemory&) = delete;
  SimulatedMemory& operator=(const SimulatedMemory&) = delete;
  ~SimulatedMemory();

  /// The device's address: any access through it traps.
  [[nodiscard]] const std::byte* address(std::int64_t offset) const { return trapped_ + offset; }
  /// The alias of that address, for the device's own threads.
  [[nodiscard]] std::byte* alias(std::int64_t offset) const { return alias_ + offset; }
  void poison(const Range& range);
  void mark_written(const Range& range);
  /// False if checking is on and some byte in `range` was not written since it was poisoned.
  [[nodiscard]] bool written(const Range& range) const;
  /// End of the touched part of the memory.
  [[nodiscard]] std::int64_t touched() const { return touched_; }

 private:
  SimulatedMemory() = default;

  std::byte* trapped_ = nullptr;
  std::byte* alias_ = nullptr;
  std::size_t size_ = 0;
  std::unique_ptr<TrappedRange> trap_;
  std::vector<std::uint8_t>
      shadow_;  ///< one entry a byte, 1: written; empty: checking is off. Accesses are ordered by the streams, as those to the memory are
  std::atomic<std::int64_t> touched_ = 0;
};

}  // namespace cleave::runtime
