// Integers whose arithmetic wraps by definition, and the type in which each element type computes.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// Two's complement arithmetic modulo 2^bits. Division truncates; the caller keeps zero and -1 away from the divisor.
template <class T>
struct Wrapping {
  T value = 0;

  Wrapping() = default;
  template <std::integral U>
  constexpr Wrapping(U from) : value(static_cast<T>(from)) {}

  friend Wrapping operator+(Wrapping a, Wrapping b) { return a.bits() + b.bits(); }
  friend Wrapping operator-(Wrapping a, Wrapping b) { return a.bits() - b.bits(); }
  friend Wrapping operator*(Wrapping a, Wrapping b) { return a.bits() * b.bits(); }
  friend Wrapping operator/(Wrapping a, Wrapping b) { return a.value / b.value; }
  friend Wrapping operator%(Wrapping a, Wrapping b) { return a.value % b.value; }
  friend Wrapping operator&(Wrapping a, Wrapping b) { return a.bits() & b.bits(); }
  friend Wrapping operator|(Wrapping a, Wrapping b) { return a.bits() | b.bits(); }
  friend Wrapping operator^(Wrapping a, Wrapping b) { return a.bits() ^ b.bits(); }
  Wrapping operator-() const { return 0 - bits(); }
  Wrapping operator~() const { return ~bits(); }
  friend bool operator==(Wrapping a, Wrapping b) { return a.value == b.value; }
  friend auto operator<=>(Wrapping a, Wrapping b) { return a.value <=> b.value; }

 private:
  [[nodiscard]] std::uint64_t bits() const { return static_cast<std::uint64_t>(value); }
};

/// float for f32, f16 and bf16; double; Wrapping integers; bool.
template <class T>
struct ComputeOf {
  using type = std::conditional_t<std::is_same_v<T, double>, double, float>;
};
template <std::integral T>
struct ComputeOf<T> {
  using type = Wrapping<T>;
};
template <>
struct ComputeOf<bool> {
  using type = bool;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

/// What a reduction accumulates in: double for floating types, wrapping i64 for the others.
template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, Wrapping<std::int64_t>, double>;

template <class T>
Compute<T> load(T element) {
  return static_cast<Compute<T>>(element);
}
template <class T>
Accumulator<T> widen(T element) {
  if constexpr (std::is_integral_v<T>) {
    return Accumulator<T>(element);
  } else {
    return static_cast<double>(load(element));
  }
}
template <class R, class C>
R store(C value) {
  if constexpr (std::is_same_v<R, Half> || std::is_same_v<R, BFloat16>) {
    return R(store<float>(value));
  } else if constexpr (std::is_arithmetic_v<C>) {
    return static_cast<R>(value);
  } else {
    return static_cast<R>(value.value);
  }
}

}  // namespace cleave::ops
