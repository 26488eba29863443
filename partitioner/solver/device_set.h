// DeviceSet: a set of devices in one word, such as those on which a node has a copy.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "graph/base/id.h"

namespace cleave::planner {

/// A set of devices: the host and up to 63 accelerators, one bit each.
struct DeviceSet {
  static constexpr std::size_t kMost = 64;

  std::uint64_t bits = 0;

  constexpr DeviceSet() = default;
  constexpr explicit DeviceSet(std::uint64_t set) : bits(set) {}
  static constexpr DeviceSet only(std::size_t device) { return DeviceSet(std::uint64_t{1} << device); }
  static constexpr DeviceSet first(std::size_t count) {
    return DeviceSet(count >= kMost ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
  }
  [[nodiscard]] constexpr bool has(std::size_t device) const { return (bits >> device & 1) != 0; }
  [[nodiscard]] constexpr bool has(DeviceId device) const { return has(device.index); }
  [[nodiscard]] constexpr bool empty() const { return bits == 0; }
  [[nodiscard]] constexpr int count() const { return std::popcount(bits); }
  /// The device with the smallest number; 64 for the empty set.
  [[nodiscard]] constexpr std::size_t lowest() const { return static_cast<std::size_t>(std::countr_zero(bits)); }
  [[nodiscard]] constexpr DeviceSet without(DeviceSet other) const { return DeviceSet(bits & ~other.bits); }
  friend constexpr DeviceSet operator|(DeviceSet a, DeviceSet b) { return DeviceSet(a.bits | b.bits); }
  friend constexpr DeviceSet operator&(DeviceSet a, DeviceSet b) { return DeviceSet(a.bits & b.bits); }
  friend constexpr bool operator==(DeviceSet, DeviceSet) = default;
};

/// Calls `visit(device)` for each device of the set, by number.
template <class Visit>
void for_each_device(DeviceSet set, Visit visit) {
  for (std::uint64_t rest = set.bits; rest != 0; rest &= rest - 1) visit(static_cast<std::size_t>(std::countr_zero(rest)));
}

}  // namespace cleave::planner
