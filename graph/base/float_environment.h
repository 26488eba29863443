// FloatEnvironment: a thread's floating-point control state: rounding mode, flushing of denormals, and traps. Its door is StandardFloats.
// Engine code must compute in the standard environment only, so that results do not depend on the caller's.
#pragma once

#include <cstdint>

namespace cleave {

struct FloatEnvironment {
#if defined(__x86_64__)
  std::uint32_t sse = 0x1f80;  ///< MXCSR: all traps masked, to nearest, denormal numbers are kept
  std::uint16_t x87 = 0x037f;  ///< the control word: the same, with the longest mantissa

  /// The environment of the calling thread.
  static FloatEnvironment current() {
    FloatEnvironment now;
    asm volatile("stmxcsr %0" : "=m"(now.sse));
    asm volatile("fnstcw %0" : "=m"(now.x87));
    return now;
  }
  /// Installs it in the calling thread.
  void set() const {
    asm volatile("ldmxcsr %0" : : "m"(sse) : "memory");
    const FloatEnvironment now = current();
    // Without flags, a trap that is allowed from now on has nothing to report.
    if (now.x87 != x87) asm volatile("fnclex\n\tfldcw %0" : : "m"(x87) : "memory");
  }
  /// Whether both give equal results; flags of past exceptions are ignored.
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

/// Scope in which the calling thread computes in the standard environment; the destructor restores the previous one. It is used at the
/// public functions and in each engine thread, since a new thread inherits its creator's environment.
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
