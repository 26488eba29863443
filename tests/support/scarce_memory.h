// ScarceMemory: simulates a system that is short of memory. It replaces `operator new` and `calloc` in the program that it is linked into,
// so each test that uses it must be named in tests/CMakeLists.txt.
#pragma once

#include <cstdint>

namespace cleave::testing {

/// During this object's lifetime, `more` allocations succeed in this process, on any thread; then one fails (once), or all do (lasting).
class ScarceMemory {
 public:
  enum class Shortage : std::uint8_t { once, lasting };
  ScarceMemory(std::int64_t more, Shortage shortage);
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;
  ~ScarceMemory();
  /// Whether an allocation has failed.
  [[nodiscard]] bool refused() const;
};

}  // namespace cleave::testing
