// Trap: catches the host reading device memory. The device's address range is mapped without any access; a fault inside it prints the node
// that the thread was working on, with its line, and aborts. Other faults go to whoever handled them before.
#pragma once

#include <cstddef>

namespace cleave::runtime {

/// While this lives, a fault in [begin, begin + bytes) is the trap's.
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
