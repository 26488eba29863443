// Many short lines sorted side by side, a lane of a vector each, by Batcher's merge exchange (Knuth, volume 3, 5.2.2, algorithm M): what it
// compares does not depend on what it finds. For numbers whose equals nobody can tell apart.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

/// Lines that are sorted together: as many as a line of the cache holds.
template <class Item>
inline constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Item));

/// Sorts items[k * kLanes + lane] for k < count in each lane. Of std::uint8_t to std::uint64_t.
template <class Item>
void sort_lanes(Item* items, std::int64_t count);

/// The longest lines that are sorted faster so than by radix, with the instructions that this processor has.
std::int64_t longest_lanes(std::int64_t item_bytes);

}  // namespace cleave::runtime::host
