// Sorts many short lines side by side, one in each vector lane, by Batcher's merge exchange (Knuth, volume 3, 5.2.2, algorithm M), whose
// comparisons do not depend on the data. Not stable, so only for items whose equals are indistinguishable.
#pragma once

#include <cstdint>

namespace cleave::runtime::host {

/// The number of lines sorted together: the elements of a cache line.
template <class Item>
inline constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Item));

/// Sorts items[k * kLanes + lane] for k < count in each lane. Item: std::uint8_t to std::uint64_t.
template <class Item>
void sort_lanes(Item* items, std::int64_t count);

/// The longest lines for which this is faster than radix sort, with this processor's instructions.
std::int64_t longest_lanes(std::int64_t item_bytes);

}  // namespace cleave::runtime::host
