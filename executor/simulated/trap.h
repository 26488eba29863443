// Trap: detects that the host accesses device memory. The device's address range is mapped without any access; a fault inside it prints the
// node that the thread was executing, with its line, and aborts. Other faults are passed to the previous handler.
#pragma once

#include <cstddef>

namespace cleave::runtime {

/// While this object lives, the trap handles faults in [begin, begin + bytes).
class TrappedRange {
 public:
  TrappedRange(const void* begin, std::size_t bytes);
  TrappedRange(const TrappedRange&) = delete;
  TrappedRange& operator=(const TrappedRange&) = delete;
  ~TrappedRange();

 private:
  int slot_ = -1;
};

}  // namespace cleave::runtime
