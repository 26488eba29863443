// Random draws that survive shrinking: every statement of a program draws from its own stream, and a choice among values depends on their
// names alone. So leaving out a statement changes no choice of other statements, except of those that read its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave::testing {

/// The finalizer of splitmix64.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// A stream of numbers that depend on the seed alone, on every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(mix(seed + 0x9E3779B97F4A7C15)) {}

  std::uint64_t bits() { return mix(state_ += 0x9E3779B97F4A7C15); }
  /// A number from 0 to n - 1; 0 if n is 0.
  std::int64_t below(std::int64_t n) { return n <= 0 ? 0 : static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  double real(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double probability) { return real(0, 1) < probability; }
  template <class Items>
  const auto& pick(const Items& items) {
    return *(std::begin(items) + below(static_cast<std::int64_t>(std::size(items))));
  }

 private:
  std::uint64_t state_;
};

}  // namespace cleave::testing
