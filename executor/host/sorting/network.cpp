#include "executor/host/sorting/network.h"

#include <algorithm>
#include <cstring>

#include "executor/host/instructions.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define CLEAVE_SEVERAL_SETS 1
#endif

namespace cleave::runtime::host {
namespace {

/// The lanes of one position, which the compiler divides into the available vector registers.
template <class Item>
struct Lanes {
  using Vector [[gnu::vector_size(64)]] = Item;
};

template <class Item>
[[gnu::always_inline]] inline void exchange(Item* first, Item* second) {
  typename Lanes<Item>::Vector a, b;
  std::memcpy(&a, first, sizeof a);
  std::memcpy(&b, second, sizeof b);
  const auto in_order = a < b;
  const typename Lanes<Item>::Vector low = in_order ? a : b, high = in_order ? b : a;
  std::memcpy(first, &low, sizeof low);
  std::memcpy(second, &high, sizeof high);
}

template <class Item>
[[gnu::always_inline]] inline void merge_exchange(Item* items, std::int64_t count) {
  std::int64_t top = 1;
  while (2 * top < count) top *= 2;
  for (std::int64_t p = top; p > 0; p /= 2) {
    std::int64_t q = top, r = 0, d = p;
    for (;;) {
      for (std::int64_t run = r; run < count - d; run += 2 * p) {
        const std::int64_t end = std::min(run + p, count - d);
        for (std::int64_t i = run; i < end; ++i) exchange(items + i * kLanes<Item>, items + (i + d) * kLanes<Item>);
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

template <class Item>
void sort_anywhere(Item* items, std::int64_t count) {
  merge_exchange(items, count);
}
#if CLEAVE_SEVERAL_SETS
template <class Item>
[[gnu::target("avx2")]] void sort_avx2(Item* items, std::int64_t count) {
  merge_exchange(items, count);
}
template <class Item>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]] void sort_avx512(Item* items, std::int64_t count) {
  merge_exchange(items, count);
}
#endif

template <class Item>
auto fastest() {
#if CLEAVE_SEVERAL_SETS
  if (instructions() >= Instructions::avx512) return sort_avx512<Item>;
  if (instructions() >= Instructions::avx2) return sort_avx2<Item>;
#endif
  return sort_anywhere<Item>;
}

}  // namespace

template <class Item>
void sort_lanes(Item* items, std::int64_t count) {
  static const auto sort = fastest<Item>();
  if (count > 1) sort(items, count);
}
template void sort_lanes(std::uint8_t* items, std::int64_t count);
template void sort_lanes(std::uint16_t* items, std::int64_t count);
template void sort_lanes(std::uint32_t* items, std::int64_t count);
template void sort_lanes(std::uint64_t* items, std::int64_t count);

std::int64_t longest_lanes(std::int64_t item_bytes) {
  if (instructions() == Instructions::portable) return 32;
  if (item_bytes == 4) return 1024;
  return item_bytes == 8 && instructions() == Instructions::avx512 ? 512 : 64;
}

}  // namespace cleave::runtime::host
