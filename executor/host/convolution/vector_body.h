// Vectors of CLEAVE_CODE_BYTES for the loops that code_body.h compiles once for each instruction set. All functions are always inlined, so
// that no copy compiled for one set serves another.
#pragma once

#include <cstdint>
#include <utility>

// NOLINTBEGIN(misc-definitions-in-headers): in another namespace in each file.
namespace cleave::runtime::host::CLEAVE_CODE_NAME {
namespace {

constexpr int kBytes = CLEAVE_CODE_BYTES;

template <class T, int Bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes = kBytes>
using Vector = typename VectorOf<T, Bytes>::type;
template <class T>
constexpr std::int64_t kWidth = kBytes / static_cast<int>(sizeof(T));

template <class T, int Bytes = kBytes>
inline __attribute__((always_inline)) Vector<T, Bytes> load(const T* from) {
  Vector<T, Bytes> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class T, int Bytes = kBytes>
inline __attribute__((always_inline)) void store(T* to, const Vector<T, Bytes>& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

template <class T>
inline __attribute__((always_inline)) void fill(T* to, std::int64_t count, T value) {
  constexpr std::int64_t w = kWidth<T>;
  std::int64_t i = 0;
  for (; i + w <= count; i += w) store<T>(to + i, Vector<T>{} + value);
  for (; i < count; ++i) to[i] = value;
}

/// The even-numbered elements of two vectors, and the odd-numbered ones.
template <class V, std::size_t... I>
inline __attribute__((always_inline)) V evens(V x, V y, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, y, (2 * static_cast<int>(I))...);
}

template <class V, std::size_t... I>
inline __attribute__((always_inline)) V odds(V x, V y, std::index_sequence<I...>) {
  return __builtin_shufflevector(x, y, (2 * static_cast<int>(I) + 1)...);
}
/// The elements of two vectors in turn: the first half of the result, or the second.
template <bool second, class V, std::size_t... I>
inline __attribute__((always_inline)) V in_turn(V x, V y, std::index_sequence<I...>) {
  constexpr int w = static_cast<int>(sizeof...(I));
  return __builtin_shufflevector(x, y, ((second ? w / 2 : 0) + static_cast<int>(I) / 2 + static_cast<int>(I) % 2 * w)...);
}

}  // namespace
}  // namespace cleave::runtime::host::CLEAVE_CODE_NAME
// NOLINTEND(misc-definitions-in-headers)
