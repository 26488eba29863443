// The k largest of a line, largest first, the earlier of equal ones first: a list of candidates, and the least of the k best so far, below
// which nothing needs a second look.
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

  /// Room for candidates that a line needs.
  static std::int64_t room(std::int64_t extent, std::int64_t k) {
    return sorts_all(extent, k) ? 2 * extent : std::min(extent, std::max<std::int64_t>(2 * k, k + 2 * kBlock));
  }

  TopOfLine(const T* line, std::int64_t extent, std::int64_t k, Item* candidates)
      : line_(line), extent_(extent), k_(k), room_(room(extent, k)), candidates_(candidates) {}

  /// Where the k best stand. Keys are turned around, so that the least item is the best.
  const Item* run() {
    if (sorts_all(extent_, k_)) {
      take_first(extent_);
      std::vector<Counts> none;
      return RadixSort<Kind>::run(candidates_, candidates_ + extent_, extent_, Workers::none(), none);
    }
    take_first(room_);
    keep_best();
    StopLooks looks;
    for (std::int64_t i = room_; i < extent_ && least_ < kNaNKey<T>; i += kBlock) {  // nothing is more than NaN
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

  /// Where a large part of a long line is asked for.
  static bool sorts_all(std::int64_t extent, std::int64_t k) { return extent > 1024 && k > extent / 8; }

  [[nodiscard]] Item item_at(std::int64_t i) const {
    return Kind::make(static_cast<KeyOf<T>>(~key_of(line_[i])), static_cast<std::uint32_t>(i));
  }

  void take_first(std::int64_t count) {
    each_long(count, [&](std::int64_t begin, std::int64_t end) {
      for (count_ = begin; count_ < end; ++count_) candidates_[count_] = item_at(count_);
    });
  }

  /// `sort(less)` for as many candidates; many are compared by one that looks whether the work is still wanted.
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

  /// Of a whole block, in loops that compilers vectorise.
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
