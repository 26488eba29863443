// FloatEnvironment: how a thread computes with floating-point numbers: rounding mode, flushing of denormal numbers, and traps. Its door is
// StandardFloats. Code of the engine computes in the standard environment only, so that results do not depend on the caller's.
#pragma once

#include <cstdint>

namespace cleave {

struct FloatEnvironment {
#if defined(__x86_64__)
  std::uint32_t sse = 0x1f80;  ///< MXCSR: all traps masked, to nearest, denormal numbers are kept
  std::uint16_t x87 = 0x037f;  ///< the control word: the same, with the longest mantissa

  /// The calling thread's.
  static FloatEnvironment current() {
    FloatEnvironment now;
    asm volatile("stmxcsr %0" : "=m"(now.sse));
    asm volatile("fnstcw %0" : "=m"(now.x87));
    return now;
  }
  /// Makes it the calling thread's.
  void set() const {
    asm volatile("ldmxcsr %0" : : "m"(sse) : "memory");
    const FloatEnvironment now = current();
    // Without flags, a trap that is allowed from now on has nothing to report.
    if (now.x87 != x87) asm volatile("fnclex\n\tfldcw %0" : : "m"(x87) : "memory");
  }
  /// Whether both compute alike; flags of past exceptions do not count.
  [[nodiscard]] bool computes_as(const FloatEnvironment& other) const {
    constexpr std::uint32_t kFlags = 0x3f;
    return (sse & ~kFlags) == (other.sse & ~kFlags) && x87 == other.x87;
  }
#elif defined(__aarch64__)
  std::uint64_t control = 0;  ///< FPCR

  static FloatEnvironment current() {
    FloatEnvironment now;
    asm volatile("mrs %0, fpcr" : "=r"(now.control));
    return now;
  }
  void set() const {
    asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
  }
  [[nodiscard]] bool computes_as(const FloatEnvironment& other) const {
    return control == other.control;
  }
#else
  static FloatEnvironment current() {
    return {};
  }
  void set() const {}
  [[nodiscard]] bool computes_as(const FloatEnvironment&) const {
    return true;
  }
#endif
};

/// While it lives, the calling thread computes in the standard environment; afterwards in the one that it had. Stands at the public doors
/// and in each thread of the engine: a new thread inherits the environment of the one that started it.
class StandardFloats {
 public:
  StandardFloats() : before_(FloatEnvironment::current()) {
    if (!before_.computes_as({})) FloatEnvironment().set();
  }
  StandardFloats(const StandardFloats&) = delete;
  StandardFloats& operator=(const StandardFloats&) = delete;
  ~StandardFloats() {
    if (!before_.computes_as({})) before_.set();
  }

 private:
  const FloatEnvironment before_;
};

}  // namespace cleave
