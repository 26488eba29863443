// Integers whose arithmetic wraps by definition, and the type in which each element type computes.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "graph/array/tensor_type.h"

namespace cleave::ops {

/// Two's complement arithmetic modulo 2^bits. Division truncates; the caller keeps zero and -1 away from the divisor.
///
/// What is kept is the unsigned number, never the signed one: a sum that is signed but added as unsigned has a conversion in every turn of
/// its loop, and GCC 12.2 (bug 107212, mended in 12.3) vectorises eight such sums side by side over 8-bit elements wrongly: it drops every
/// second group of eight. Without the conversion there is nothing to get wrong. tests/executor/host/sweep_test.cpp watches over it.
template <class T>
class Wrapping {
 public:
  Wrapping() = default;
  template <std::integral U>
  constexpr Wrapping(U from) : bits_(static_cast<Bits>(from)) {}
  [[nodiscard]] constexpr T value() const { return static_cast<T>(bits_); }

  friend Wrapping operator+(Wrapping a, Wrapping b) { return a.bits_ + b.bits_; }
  friend Wrapping operator-(Wrapping a, Wrapping b) { return a.bits_ - b.bits_; }
  friend Wrapping operator*(Wrapping a, Wrapping b) {
    return static_cast<std::common_type_t<Bits, unsigned>>(a.bits_) * b.bits_;  // not as int, which two u16 may pass
  }
  friend Wrapping operator/(Wrapping a, Wrapping b) { return a.value() / b.value(); }
  friend Wrapping operator%(Wrapping a, Wrapping b) { return a.value() % b.value(); }
  friend Wrapping operator&(Wrapping a, Wrapping b) { return a.bits_ & b.bits_; }
  friend Wrapping operator|(Wrapping a, Wrapping b) { return a.bits_ | b.bits_; }
  friend Wrapping operator^(Wrapping a, Wrapping b) { return a.bits_ ^ b.bits_; }
  Wrapping operator-() const { return Wrapping() - *this; }
  Wrapping operator~() const { return ~bits_; }
  friend bool operator==(Wrapping a, Wrapping b) { return a.bits_ == b.bits_; }
  friend auto operator<=>(Wrapping a, Wrapping b) { return a.value() <=> b.value(); }

 private:
  using Bits = std::make_unsigned_t<T>;
  Bits bits_ = 0;
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

template <class T>
Compute<T> load(T element) {
  return static_cast<Compute<T>>(element);
}
template <class R, class C>
R store(C value) {
  if constexpr (std::is_same_v<R, Half> || std::is_same_v<R, BFloat16>) {
    return R(store<float>(value));
  } else if constexpr (std::is_arithmetic_v<C>) {
    return static_cast<R>(value);
  } else {
    return static_cast<R>(value.value());
  }
}

}  // namespace cleave::ops
