// CheckedMemory: reads and writes of the simulated accelerator's memory, by copies: finds reads of bytes that nobody wrote, and transfers
// that arrive damaged.
#pragma once

#include <memory>

#include "executor/simulated/memory.h"

namespace cleave::runtime {

class CheckedMemory {
 public:
  /// `check`: finds bytes that nobody wrote. `compare`: compares the bytes that arrive with those sent.
  CheckedMemory(bool check, bool compare) : check_(check), compare_(compare) {}

  Status allocate(std::int64_t bytes);
  [[nodiscard]] SimulatedMemory& raw() const { return *memory_; }
  [[nodiscard]] Status check_written(const Range& range) const;
  /// `damage`: one byte arrives wrong.
  Status bring(const Range& to, const std::byte* from, bool damage);
  Status fetch(std::byte* to, const Range& from, bool damage) const;
  /// From the memory of another device.
  Status take(const Range& to, const CheckedMemory& other, const Range& from, bool damage);
  Status copy(const Range& to, const Range& from);
  void fill(const Range& to, std::int32_t value);

 private:
  Status transfer(std::byte* to, const std::byte* from, std::int64_t bytes, bool damage) const;

  const bool check_, compare_;
  std::unique_ptr<SimulatedMemory> memory_;
};

}  // namespace cleave::runtime
