// Keys: the unsigned numbers that sorting compares. Their order is that of the op's reference implementation: by value, with all NaNs equal
// and last, and both zeros equal. And items: a key alone, or a key with the position it came from.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "graph/array/tensor_type.h"

namespace cleave::runtime::host {

template <std::size_t bytes>
using UnsignedOf =
    std::conditional_t<bytes == 1, std::uint8_t,
                       std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
using KeyOf = UnsignedOf<sizeof(T)>;

/// Whether different elements of T can have equal keys: the two zeros, and NaNs.
template <class T>
inline constexpr bool kHasTwins = !std::is_integral_v<T>;

template <class T>
constexpr KeyOf<T> infinity_bits() {
  if constexpr (std::is_same_v<T, Half>) return 0x7C00;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x7F80;
  if constexpr (std::is_same_v<T, float>) return 0x7F800000;
  if constexpr (std::is_same_v<T, double>) return 0x7FF0000000000000;
  return 0;
}
template <class T>
inline constexpr KeyOf<T> kSign = static_cast<KeyOf<T>>(KeyOf<T>{1} << (8 * sizeof(T) - 1));
template <class T>
inline constexpr KeyOf<T> kNaNKey = static_cast<KeyOf<T>>(~KeyOf<T>{0});
template <class T>
inline constexpr KeyOf<T> kZeroKey = kSign<T>;  ///< for floating-point T

template <class Key>
constexpr Key all_if(bool condition) {
  return static_cast<Key>(-static_cast<Key>(condition));
}

template <class T>
KeyOf<T> key_of(T element) {
  using Key = KeyOf<T>;
  const Key bits = std::bit_cast<Key>(element);
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? static_cast<Key>(bits ^ kSign<T>) : bits;
  } else {  // without branches, because signs are unpredictable
    const auto size = static_cast<Key>(bits & ~kSign<T>);
    const auto number = static_cast<Key>(bits & all_if<Key>(size != 0));
    const auto key = static_cast<Key>(number ^ (all_if<Key>(number >= kSign<T>) | kSign<T>));
    return static_cast<Key>(key | all_if<Key>(size > infinity_bits<T>()));
  }
}

/// An element with this key.
template <class T>
T element_of(KeyOf<T> key) {
  using Key = KeyOf<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return key != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return std::bit_cast<T>(std::is_signed_v<T> ? static_cast<Key>(key ^ kSign<T>) : key);
  } else {
    return std::bit_cast<T>(static_cast<Key>(key ^ (all_if<Key>(key < kSign<T>) | kSign<T>)));
  }
}

template <class Key>
struct KeyItem {
  using Item = Key;
  static Item make(Key key, std::uint32_t) { return key; }
  static Key key(Item item) { return item; }
  static bool less(Item a, Item b) { return a < b; }
};

/// Items with equal keys are ordered by their positions.
template <class Key>
struct PlacedItem {
  using Item = std::uint64_t;
  static Item make(Key key, std::uint32_t position) { return std::uint64_t{key} << 32 | position; }
  static Key key(Item item) { return static_cast<Key>(item >> 32); }
  static std::uint32_t position(Item item) { return static_cast<std::uint32_t>(item); }
  static bool less(Item a, Item b) { return a < b; }
};

template <>
struct PlacedItem<std::uint64_t> {
  struct Item {
    std::uint64_t key = 0;
    std::uint32_t position = 0;
  };
  static Item make(std::uint64_t key, std::uint32_t position) { return {key, position}; }
  static std::uint64_t key(const Item& item) { return item.key; }
  static std::uint32_t position(const Item& item) { return item.position; }
  static bool less(const Item& a, const Item& b) { return a.key < b.key || (a.key == b.key && a.position < b.position); }
};

}  // namespace cleave::runtime::host
