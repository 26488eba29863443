// The k largest elements of a line in descending order; of equal ones, the earlier first. Keeps a list of candidates and the smallest of
// the k best so far, so that most blocks are skipped after one comparison loop.
#pragma once

#include <algorithm>

#include "executor/host/long_copy.h"
#include "executor/host/sorting/radix.h"
#include "graph/base/stop.h"

namespace cleave::runtime::host {

template <class T>
class TopOfLine {
 public:
  using Kind = PlacedItem<KeyOf<T>>;
  using Item = typename Kind::Item;

  /// The number of candidates for which a line needs memory.
  static std::int64_t room(std::int64_t extent, std::int64_t k) {
    return sorts_all(extent, k) ? 2 * extent : std::min(extent, std::max<std::int64_t>(2 * k, k + 2 * kBlock));
  }

  TopOfLine(const T* line, std::int64_t extent, std::int64_t k, Item* candidates)
      : line_(line), extent_(extent), k_(k), room_(room(extent, k)), candidates_(candidates) {}

  /// Returns the k best. Keys are inverted, so that the smallest item is the best.
  const Item* run() {
    if (sorts_all(extent_, k_)) {
      take_first(extent_);
      std::vector<Counts> none;
      return RadixSort<Kind>::run(candidates_, candidates_ + extent_, extent_, Workers::none(), none);
    }
    take_first(room_);
    keep_best();
    StopLooks looks;
    for (std::int64_t i = room_; i < extent_ && least_ < kNaNKey<T>; i += kBlock) {  // no key is larger than NaN's
      looks.worked(kBlock);
      const std::int64_t end = std::min(extent_, i + kBlock);
      if (end - i == kBlock && !any_above(line_ + i)) continue;
      for (std::int64_t j = i; j < end; ++j) {
        if (key_of(line_[j]) <= least_) continue;
        candidates_[count_++] = item_at(j);
        if (count_ == room_) keep_best();
      }
    }
    keep_best();
    with_less(k_, [&](const auto& less) { std::sort(candidates_, candidates_ + k_, less); });
    return candidates_;
  }

 private:
  static constexpr std::int64_t kBlock = 64;

  /// Whether to sort the whole line: it is long, and k is a large part of it.
  static bool sorts_all(std::int64_t extent, std::int64_t k) { return extent > 1024 && k > extent / 8; }

  [[nodiscard]] Item item_at(std::int64_t i) const {
    return Kind::make(static_cast<KeyOf<T>>(~key_of(line_[i])), static_cast<std::uint32_t>(i));
  }

  void take_first(std::int64_t count) {
    each_long(count, [&](std::int64_t begin, std::int64_t end) {
      for (count_ = begin; count_ < end; ++count_) candidates_[count_] = item_at(count_);
    });
  }

  /// Calls `sort(less)` for so many candidates; if there are many, `less` polls the stop sign.
  template <class Sort>
  static void with_less(std::int64_t candidates, const Sort& sort) {
    if (candidates < StopLooks::kWork) return sort([](const Item& a, const Item& b) { return Kind::less(a, b); });
    StopLooks looks;
    sort([&](const Item& a, const Item& b) {
      looks.worked();
      return Kind::less(a, b);
    });
  }

  void keep_best() {
    if (count_ > k_)
      with_less(count_, [&](const auto& less) { std::nth_element(candidates_, candidates_ + k_ - 1, candidates_ + count_, less); });
    count_ = std::min(count_, k_);
    // After the cut the last candidate is the smallest one kept; without a cut the bound is not used again.
    least_ = static_cast<KeyOf<T>>(~Kind::key(candidates_[k_ - 1]));
  }

  /// Whether a block has a key above the bound; the loops are vectorised by the compiler.
  [[nodiscard]] bool any_above(const T* block) const {
    unsigned above = 0;
    if constexpr (std::is_floating_point_v<T> || std::is_integral_v<T>) {
      const T least = element_of<T>(least_);
      for (std::int64_t j = 0; j < kBlock; ++j) above |= static_cast<unsigned>(!(block[j] <= least));  // NaN too
    } else {
      for (std::int64_t j = 0; j < kBlock; ++j) above |= static_cast<unsigned>(key_of(block[j]) > least_);
    }
    return above != 0;
  }

  const T* line_;
  std::int64_t extent_, k_, room_;
  Item* candidates_;
  std::int64_t count_ = 0;
  KeyOf<T> least_ = 0;
};

}  // namespace cleave::runtime::host
