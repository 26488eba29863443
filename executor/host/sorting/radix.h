// A stable radix sort of items by their keys, with digits of eight bits, the lowest first. A digit that is equal in all keys costs no pass.
// Long sequences are divided among workers; a stable order is unique, so the result does not depend on the division.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "executor/device/workers.h"
#include "executor/host/long_copy.h"
#include "executor/host/sorting/keys.h"
#include "graph/base/stop.h"

namespace cleave::runtime::host {

/// Memory that is kept between calls and grows on demand.
class Scratch {
 public:
  template <class T>
  T* get(std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size_ = bytes;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

using Counts = std::array<std::uint32_t, 256>;

/// The shortest sequence that is divided among workers.
inline constexpr std::int64_t kSplitFrom = 1 << 16;

template <class Kind>
class RadixSort {
 public:
  using Item = typename Kind::Item;
  using Key = decltype(Kind::key(Item{}));

  /// Sorts `items` and returns the sorted sequence, which is in `items` or in `other`, a buffer of the same length. `counts` is kept for
  /// the next call.
  static Item* run(Item* items, Item* other, std::int64_t count, Workers& workers, std::vector<Counts>& counts) {
    if (count < 10 * kDigits) {  // comparison sort is faster
      std::sort(items, items + count, Kind::less);
      return items;
    }
    return workers.threads() > 1 && count >= kSplitFrom ? split(items, other, count, workers, counts) : alone(items, other, count);
  }

 private:
  static constexpr int kDigits = static_cast<int>(sizeof(Key));
  static unsigned digit(const Item& item, int which) { return static_cast<unsigned>(Kind::key(item) >> (8 * which)) & 255U; }

  static void scatter(const Item* from, const Item* end, Item* to, int which, Counts& next) {
    each_long(end - from, [&](std::int64_t begin, std::int64_t part_end) {
      for (const Item *item = from + begin, *last = from + part_end; item < last; ++item) to[next[digit(*item, which)]++] = *item;
    });
  }

  static Item* alone(Item* items, Item* other, std::int64_t count) {
    std::array<Counts, kDigits> counts{};
    each_long(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (int which = 0; which < kDigits; ++which) ++counts[which][digit(items[i], which)];
      }
    });
    for (int which = 0; which < kDigits; ++which) {
      if (counts[which][digit(items[0], which)] == count) continue;
      std::uint32_t place = 0;
      for (std::uint32_t& number : counts[which]) place += std::exchange(number, place);
      scatter(items, items + count, other, which, counts[which]);
      std::swap(items, other);
    }
    return items;
  }

  /// Sorts with one part for each thread: an item's position follows items of smaller digits, and items of the same digit in earlier parts.
  static Item* split(Item* items, Item* other, std::int64_t count, Workers& workers, std::vector<Counts>& counts) {
    const std::int64_t parts = workers.threads();
    const auto begin = [&](std::int64_t part) { return count * part / parts; };
    counts.resize(static_cast<std::size_t>(parts));
    for (int which = 0; which < kDigits; ++which) {
      workers.each(parts, [&](std::int64_t part) {
        Counts own{};
        const Item* const mine = items + begin(part);
        each_long(begin(part + 1) - begin(part), [&](std::int64_t first, std::int64_t end) {
          for (std::int64_t i = first; i < end; ++i) ++own[digit(mine[i], which)];
        });
        counts[static_cast<std::size_t>(part)] = own;
      });
      std::uint32_t place = 0;
      bool shared = false;
      for (std::size_t value = 0; value < 256; ++value) {
        const std::uint32_t before = place;
        for (Counts& of_part : counts) place += std::exchange(of_part[value], place);
        shared = shared || place - before == count;
      }
      if (shared) continue;
      workers.each(parts, [&](std::int64_t part) {
        scatter(items + begin(part), items + begin(part + 1), other, which, counts[static_cast<std::size_t>(part)]);
      });
      std::swap(items, other);
    }
    return items;
  }
};

}  // namespace cleave::runtime::host
